/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cross_free.c - two threads allocate and free each other's blocks for some
 * seconds (the argument), then rest; the main thread dumps and prints what is
 * live: `OBJECTS BYTES`.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 4096
#define SIZE 48 /* one size class, so that addresses are reused at once */

/* Whoever exchanges a block out of its slot owns it. */
static _Atomic(void *) slots[SLOTS];
static atomic_int stop;

static void *
work(void *argument)
{
	unsigned random = (unsigned)(size_t)argument;

	while (!atomic_load(&stop)) {
		void *p = malloc(SIZE);

		random = random * 1103515245 + 12345;
		p = atomic_exchange(&slots[random >> 16 & (SLOTS - 1)], p);
		free(p);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	struct timespec duration = { argc > 1 ? atoi(argv[1]) : 1, 0 };
	pthread_t threads[2];
	unsigned live = 0;

	for (size_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	nanosleep(&duration, NULL);
	atomic_store(&stop, 1);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < SLOTS; i++)
		live += slots[i] != NULL;
	kill(getpid(), SIGUSR2);
	printf("%u %u\n", live, live * SIZE);
	return 0;
}
