/* SPDX-License-Identifier: Apache-2.0 */
/*
 * odd_registers.c - allocates below code that has no call frame information,
 * where rbp may be any number and the code itself may not be readable.
 *
 *	odd_registers numbers|hole|hidden
 *
 * numbers: rbp has one number after the other, in main(), in a thread and on a
 * coroutine's stack. hole: it points to where there was memory between such a
 * stack and its thread's, which has no guard. hidden: the code's page cannot be
 * read while its frame is on the stack, as code that may only be executed.
 * Prints "unhurt".
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "map_stack.h"

void with_rbp(uintptr_t rbp, void (*function)(void));
void from_hidden(void (*function)(void));
extern char hidden_page[];

/*
 * from_hidden() leaves words on the stack that are those of the kernel's frame
 * of a signal: the selector of the code segment.
 */
__asm__(".text\n"
	".globl with_rbp\n"
	"with_rbp:\n"
	"	push %rbp\n"
	"	mov %rdi, %rbp\n"
	"	sub $512, %rsp\n"
	"	call *%rsi\n"
	"	add $512, %rsp\n"
	"	pop %rbp\n"
	"	ret\n"
	".balign 4096\n"
	".globl hidden_page, from_hidden\n"
	"hidden_page:\n"
	"	nop\n"
	"from_hidden:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	mov $64, %ecx\n"
	"1:	push $0x33\n"
	"	loop 1b\n"
	"	call *%rdi\n"
	"	leave\n"
	"	ret\n"
	".balign 4096\n");

#define STACK_BYTES ((size_t)64 << 10)

static __attribute__((noinline)) void
take(void)
{
	void *volatile p = malloc(91);

	free(p);
}

static void
try_numbers(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t unreadable = (uintptr_t)map_stack(PAGE_BYTES);
	const uintptr_t numbers[] = {
		0,
		1,
		8,
		4096,
		UINTPTR_MAX,
		UINTPTR_MAX - 7,
		UINT64_C(1) << 47,
		UINT64_C(1) << 63,
		here,
		here + 8,
		here + 4,
		here + 4096,
		here + 65536,
		here + (1 << 20),
		here + (9 << 20),
		here - 4096,
		unreadable + PAGE_BYTES,
		unreadable + PAGE_BYTES - 8,
		unreadable - 8,
		here | (PAGE_BYTES - 8),
		(here | (PAGE_BYTES - 1)) + 1,
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		with_rbp(numbers[i], take);
	for (uintptr_t at = here; at < here + (1 << 21); at += 1 << 12)
		with_rbp(at, take);
	munmap((void *)unreadable, PAGE_BYTES);
}

static ucontext_t coroutine, resumer;
static void (*to_run)(void);

static void
body(void)
{
	to_run();
	swapcontext(&coroutine, &resumer);
}

static void
run_on(char *stack, void (*function)(void))
{
	to_run = function;
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = STACK_BYTES;
	makecontext(&coroutine, body, 0);
	swapcontext(&resumer, &coroutine);
}

static void *
try_everywhere(void *unused)
{
	try_numbers();
	run_on(map_stack(STACK_BYTES), try_numbers);
	return unused;
}

/* The coroutine's stack, what will be a hole, and the thread's stack. */
static char *area;
#define HOLE_BYTES ((size_t)256 << 10)

static void
point_to_hole(void)
{
	take();
	munmap(area + STACK_BYTES, HOLE_BYTES);
	for (size_t at = 0; at < HOLE_BYTES; at += PAGE_BYTES / 2)
		with_rbp((uintptr_t)area + STACK_BYTES + at, take);
}

static void *
use_hole(void *unused)
{
	run_on(area, point_to_hole);
	return unused;
}

static void
run_thread(void *(*function)(void *), const pthread_attr_t *attributes)
{
	pthread_t thread;

	if (pthread_create(&thread, attributes, function, NULL) != 0 ||
	    pthread_join(thread, NULL) != 0)
		abort();
}

static void
make_hole(void)
{
	const size_t size = (size_t)256 << 10;
	pthread_attr_t attributes;

	area = mmap(NULL, STACK_BYTES + HOLE_BYTES + size,
		    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_init(&attributes);
	if (area == MAP_FAILED ||
	    pthread_attr_setstack(&attributes, area + STACK_BYTES + HOLE_BYTES,
				  size) != 0)
		abort();
	run_thread(use_hole, &attributes);
}

static void
hide(int protection)
{
	if (mprotect(hidden_page, PAGE_BYTES, protection) != 0)
		abort();
}

static __attribute__((noinline)) void
take_hidden(void)
{
	hide(PROT_NONE);
	take();
	hide(PROT_READ | PROT_EXEC);
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (strcmp(argv[1], "numbers") == 0) {
		try_everywhere(NULL);
		run_thread(try_everywhere, NULL);
	} else if (strcmp(argv[1], "hole") == 0) {
		make_hole();
	} else {
		from_hidden(take_hidden);
		/* Where a protection key makes it so, or not at all. */
		hide(PROT_EXEC);
		from_hidden(take);
	}
	puts("unhurt");
}
