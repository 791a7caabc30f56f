/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_sites.c - `call_sites`: for each `syscall` in libc's text, two bytes
 * that look so included: its address there and the number that call_number()
 * finds, -1 for none. The words above the stack pointer are 0xabc.
 *
 * LINK: call_number instruction sys
 */
#include "call_number.h"

#include <link.h>
#include <stdio.h>
#include <string.h>

static long stack[64];

static void
print_call(uintptr_t ip, unsigned long at)
{
	long nr = call_number(ip + 2, (uintptr_t)stack);

	if (nr >= 0)
		printf("%lx %lx\n", at, nr);
}

static int
print_calls(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
	const char *name = strrchr(info->dlpi_name, '/');

	(void)size_bytes;
	(void)context;
	if (name == NULL || strcmp(name, "/libc.so.6") != 0)
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const unsigned char *code =
			(const void *)(info->dlpi_addr + segment->p_vaddr);

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		for (size_t at = 0; at + 2 < segment->p_filesz; at++)
			if (code[at] == 0x0f && code[at + 1] == 0x05)
				print_call((uintptr_t)code + at,
					   segment->p_vaddr + at);
	}
	return 1;
}

int
main(void)
{
	for (unsigned i = 0; i < sizeof(stack) / sizeof(stack[0]); i++)
		stack[i] = 0xabc;
	call_number_init();
	return dl_iterate_phdr(print_calls, NULL) == 1 ? 0 : 1;
}
