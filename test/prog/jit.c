/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit.c - calls malloc from machine code that it writes itself, which no module
 * describes: with a frame pointer, and without one, where the walk cannot go
 * on; and from a page that is gone when the dump is written.
 *
 *	jit ROUNDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096
#define CALL_TARGET_AT 6

typedef void *jit_function(size_t size);

/* push rbp; mov rbp, rsp; movabs rax, TARGET; call rax; pop rbp; ret */
static const unsigned char with_frame[] = {
	0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0,	  0,	0,
	0,    0,    0,	  0,	0,    0xff, 0xd0, 0x5d, 0xc3
};
/* sub rsp, 0x78; movabs rax, TARGET; call rax; add rsp, 0x78; ret */
static const unsigned char without_frame[] = {
	0x48, 0x83, 0xec, 0x78, 0x48, 0xb8, 0,	  0,	0,    0,   0,
	0,    0,    0,	  0xff, 0xd0, 0x48, 0x83, 0xc4, 0x78, 0xc3
};

static jit_function *
compile(const unsigned char *code, size_t size)
{
	void *(*target)(size_t) = malloc;
	unsigned char *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	jit_function *function;

	if (page == MAP_FAILED)
		abort();
	memcpy(page, code, size);
	memcpy(page + CALL_TARGET_AT, &target, sizeof(target));
	if (mprotect(page, PAGE_BYTES, PROT_READ | PROT_EXEC) != 0)
		abort();
	memcpy(&function, &page, sizeof(page));
	return function;
}

static __attribute__((noinline)) void
call_with(jit_function *function, long rounds)
{
	for (long i = 0; i < rounds; i++)
		free(function(40));
}

static __attribute__((noinline)) void
call_without(jit_function *function, long rounds)
{
	for (long i = 0; i < rounds; i++)
		free(function(50));
}

static __attribute__((noinline)) void
call_and_unmap(long rounds)
{
	for (long i = 0; i < rounds; i++) {
		jit_function *function =
			compile(with_frame, sizeof(with_frame));
		void *page;

		free(function(60));
		memcpy(&page, &function, sizeof(page));
		munmap(page, PAGE_BYTES);
	}
}

int
main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1000;

	call_with(compile(with_frame, sizeof(with_frame)), rounds);
	call_without(compile(without_frame, sizeof(without_frame)), rounds);
	call_and_unmap(rounds);
	puts("done");
}
