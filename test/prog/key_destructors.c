/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_destructors.c - threads that allocate and free in the destructors of
 * their keys, in each of the four rounds that POSIX has, after the C library
 * has begun to take the thread down; and threads that other threads outlive.
 *
 *	key_destructors THREADS
 *
 * Prints how many destructors ran and how many blocks they left behind.
 */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define KEYS 5
#define AT_A_TIME 8

static pthread_key_t keys[KEYS];
static atomic_int ran, left_behind;

struct value {
	int key;
	int round;
	void *held;
};

static __attribute__((noinline)) void *
take_in_destructor(size_t size)
{
	void *volatile p = malloc(size);

	if (p == NULL)
		abort();
	return p;
}

static void
destroy(void *argument)
{
	struct value *value = argument;

	ran++;
	free(value->held);
	value->held = take_in_destructor(321);
	if (++value->round < PTHREAD_DESTRUCTOR_ITERATIONS) {
		pthread_setspecific(keys[value->key], value);
		return;
	}
	/* The last round: the first key's block stays. */
	if (value->key == 0)
		left_behind++;
	else
		free(value->held);
	free(value);
}

static void *
run(void *unused)
{
	(void)unused;
	for (int i = 0; i < KEYS; i++) {
		struct value *value = malloc(sizeof(*value));

		value->key = i;
		value->round = 0;
		value->held = malloc(100);
		pthread_setspecific(keys[i], value);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 8;
	pthread_t threads[AT_A_TIME];

	for (int i = 0; i < KEYS; i++)
		pthread_key_create(&keys[i], destroy);
	for (int i = 0; i < count; i += AT_A_TIME) {
		for (int j = 0; j < AT_A_TIME; j++)
			if (pthread_create(&threads[j], NULL, run, NULL) != 0)
				abort();
		for (int j = 0; j < AT_A_TIME; j++)
			pthread_join(threads[j], NULL);
	}
	printf("%d ran, %d left\n", (int)ran, (int)left_behind);
}
