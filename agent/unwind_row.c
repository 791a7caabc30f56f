/* SPDX-License-Identifier: Apache-2.0 */
/* unwind_row.c - rows, and what the tables do not tell; see unwind_row.h. */
#include "unwind_row.h"

#include <string.h>

#include "compiler.h"
#include "instruction.h"
#include "row.h"
#include "sys.h"

bool
unwind_in_text(const struct module *module, uintptr_t address)
{
	uintptr_t at = address - module->bias;

	if (module->text_end == 0)
		return true;
	return at >= module->text_start && at < module->text_end;
}

/*
 * glibc's and musl's __restore_rt: mov $15, %rax; syscall (rt_sigreturn). Asks
 * for the code first: what runs need not be readable (protection keys).
 */
static bool
is_sigreturn(const struct module *module, uintptr_t ip)
{
	static const unsigned char code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00,
					      0x00, 0x00, 0x0f, 0x05 };

	return module->text_end != 0 && unwind_in_text(module, ip) &&
	       unwind_in_text(module, ip + sizeof(code) - 1) &&
	       sys_readable(ip) && sys_readable(ip + sizeof(code) - 1) &&
	       memcmp((const void *)ip, code, sizeof(code)) == 0;
}

uint64_t
unwind_row_of_stray(uintptr_t pc)
{
	/*
	 * The kernel maps nothing below vm.mmap_min_addr, 64 KiB by default,
	 * nor above 2^47 unless asked to; -1 is the end of the chain.
	 */
	return pc < 0x10000 || pc >= UINT64_C(1) << 47 ? ROW_NOWHERE : ROW_NONE;
}

struct cfi_section
unwind_section(const struct module *module)
{
	return (struct cfi_section){ module->eh_frame_hdr, module->eh_start,
				     module->eh_end };
}

NOINLINE uint64_t
unwind_row_of_module(const struct module *module, uintptr_t ip, uintptr_t *pc,
		     bool maybe_sigreturn, void *memory)
{
	struct cfi_section section = unwind_section(module);
	struct cfi_function function;
	uint64_t row = cfi_row(&section, *pc, memory);

	if (row == ROW_NONE && maybe_sigreturn && is_sigreturn(module, ip))
		row = ROW_SIGNAL;
	else if (row == ROW_NONE && ip != *pc &&
		 cfi_function(&section, ip, memory, &function) &&
		 function.first == ip)
		/*
		 * A function begins at the return address and nothing is
		 * before it: makecontext() or its like put it there, under
		 * the first frame of a stack.
		 */
		row = ROW_OUTERMOST;
	else if (row != ROW_SIGNAL)
		return row;
	/* Neither was called: there is no call before the address. */
	*pc = ip;
	return row;
}

bool
unwind_is_return_address(uintptr_t address, void *memory)
{
	/* `call *disp32(base,index)` with a REX prefix. */
	const uintptr_t call_bytes_max = 8;
	uintptr_t pc = address - 1;
	unsigned number = modules_find(pc);
	const struct module *module = module_at(number);
	uint64_t row;

	if (number != 0 && !unwind_in_text(module, pc))
		return false;
	if (!sys_readable(address - call_bytes_max) || !sys_readable(pc))
		return false;
	if (instruction_call_before((const unsigned char *)address -
					    call_bytes_max,
				    (const unsigned char *)address))
		return true;
	if (number == 0)
		return false;
	row = unwind_row_of_module(module, address, &pc, true, memory);
	return row == ROW_SIGNAL || row == ROW_OUTERMOST;
}
