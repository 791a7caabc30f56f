/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_stacks.c - allocates on stacks that are no thread's: coroutines whose
 * stack is a mapping between two pages that cannot be touched, or a block of
 * the heap, and which move from thread to thread.
 *
 *	foreign_stacks ROUNDS
 *
 * Prints how many blocks the coroutines took.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "map_stack.h"

#define STACK_BYTES ((size_t)16 << 10)
#define COROUTINES 8

struct coroutine {
	ucontext_t context, resumer;
	long taken;
	int index;
};

static struct coroutine coroutines[COROUTINES];
static long rounds;

static __attribute__((noinline)) void
take_in_coroutine(struct coroutine *coroutine)
{
	void *volatile p = malloc(48);

	coroutine->taken += p != NULL;
	swapcontext(&coroutine->context, &coroutine->resumer);
	free(p);
}

static void
body(int index)
{
	for (;;)
		take_in_coroutine(&coroutines[index]);
}

static void
make(int index)
{
	struct coroutine *coroutine = &coroutines[index];

	coroutine->index = index;
	getcontext(&coroutine->context);
	coroutine->context.uc_stack.ss_sp =
		index % 2 ? malloc(STACK_BYTES) : map_stack(STACK_BYTES);
	coroutine->context.uc_stack.ss_size = STACK_BYTES;
	makecontext(&coroutine->context, (void (*)(void))body, 1, index);
}

/* Half of the coroutines; which half changes. */
static void *
resume(void *half)
{
	for (int i = (int)(size_t)half; i < COROUTINES; i += 2)
		for (long round = 0; round < rounds; round++)
			swapcontext(&coroutines[i].resumer,
				    &coroutines[i].context);
	return NULL;
}

int
main(int argc, char **argv)
{
	long taken = 0;

	rounds = argc > 1 ? atol(argv[1]) : 1000;
	for (int i = 0; i < COROUTINES; i++)
		make(i);
	for (size_t turn = 0; turn < 4; turn++) {
		pthread_t thread;

		/* The others run on our stacks meanwhile, and then change. */
		pthread_create(&thread, NULL, resume, (void *)(turn % 2));
		resume((void *)(1 - turn % 2));
		pthread_join(thread, NULL);
	}
	for (int i = 0; i < COROUTINES; i++)
		taken += coroutines[i].taken;
	printf("%ld\n", taken);
}
