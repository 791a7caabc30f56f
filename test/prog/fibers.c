/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fibers.c - allocates on the stacks of many coroutines.
 *
 *	fibers heap|slab|mapped|guarded|within thread|main ROUNDS
 *
 * The stacks are blocks of the heap, lie side by side in one mapping, are
 * mappings with nothing in between, or such with pages around that cannot be
 * touched, or parts of the resumer's own stack with such pages in between; they
 * are resumed by a thread or by main(). As mappings go, they lie right below
 * the thread's own stack. Prints how many blocks were taken.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "map_stack.h"

#define FIBERS 40
#define STACK_BYTES ((size_t)120 << 10)

static ucontext_t fibers[FIBERS], resumer;
static long rounds, taken;

static __attribute__((noinline)) void
take_in_fiber(void)
{
	for (long i = 0; i < rounds; i++) {
		void *volatile p = malloc(4096);

		taken += p != NULL;
		free(p);
	}
}

static void
body(int index)
{
	for (;;) {
		take_in_fiber();
		swapcontext(&fibers[index], &resumer);
	}
}

static char *
map(size_t bytes)
{
	char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		abort();
	return stack;
}

static void
make_fibers(const char *kind, char *slab)
{
	for (int i = 0; i < FIBERS; i++) {
		char *stack = slab + (size_t)i * STACK_BYTES;
		size_t guard_bytes = 0;

		if (strcmp(kind, "heap") == 0)
			stack = malloc(STACK_BYTES);
		else if (strcmp(kind, "mapped") == 0)
			stack = map(STACK_BYTES);
		else if (strcmp(kind, "guarded") == 0)
			stack = map_stack(STACK_BYTES);
		else if (strcmp(kind, "within") == 0)
			guard_bytes = PAGE_BYTES;
		if (guard_bytes != 0 &&
		    mprotect(stack, guard_bytes, PROT_NONE) != 0)
			abort();
		getcontext(&fibers[i]);
		fibers[i].uc_stack.ss_sp = stack + guard_bytes;
		fibers[i].uc_stack.ss_size = STACK_BYTES - guard_bytes;
		makecontext(&fibers[i], (void (*)(void))body, 1, i);
	}
}

static void *
run(void *kind)
{
	_Alignas(4096) char within[FIBERS * STACK_BYTES];
	bool is_within = strcmp(kind, "within") == 0;

	make_fibers(kind, is_within ? within : map(sizeof(within)));
	for (int turn = 0; turn < 2; turn++)
		for (int i = 0; i < FIBERS; i++)
			swapcontext(&resumer, &fibers[i]);
	(void)mprotect(within, sizeof(within), PROT_READ | PROT_WRITE);
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 4)
		return 2;
	rounds = atol(argv[3]);
	if (strcmp(argv[2], "main") == 0)
		run(argv[1]);
	else if (pthread_create(&thread, NULL, run, argv[1]) != 0 ||
		 pthread_join(thread, NULL) != 0)
		return 1;
	printf("%ld\n", taken);
}
