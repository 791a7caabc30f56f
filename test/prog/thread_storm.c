/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_storm.c - `thread_storm COUNT`: four threads start threads in batches
 * of eight, COUNT in all, that live for up to a millisecond: most of those that
 * a dump lists are not there any more when it comes to them, and others are.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SPAWNERS 4
#define BATCH 8
#define STACK_BYTES ((size_t)64 << 10)

/* Atomic. */
static long left;
static long ran;

static void *
live_shortly(void *number)
{
	void *volatile p = malloc(100);

	if ((unsigned long)number % 2 == 0)
		usleep((useconds_t)((unsigned long)number * 100));
	free(p);
	/* Relaxed: a number that main() reads after it has joined all. */
	__atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *
spawn(void *attributes)
{
	pthread_t threads[BATCH];

	while (__atomic_sub_fetch(&left, BATCH, __ATOMIC_RELAXED) >= 0) {
		for (unsigned long i = 0; i < BATCH; i++)
			if (pthread_create(&threads[i], attributes,
					   live_shortly, (void *)i) != 0)
				abort();
		for (int i = 0; i < BATCH; i++)
			pthread_join(threads[i], NULL);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t spawners[SPAWNERS];
	pthread_attr_t attributes;

	left = argc > 1 ? atol(argv[1]) : BATCH;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (int i = 0; i < SPAWNERS; i++)
		if (pthread_create(&spawners[i], NULL, spawn, &attributes) != 0)
			abort();
	for (int i = 0; i < SPAWNERS; i++)
		pthread_join(spawners[i], NULL);
	printf("%ld threads\n", ran);
}
