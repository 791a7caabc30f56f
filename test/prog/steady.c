/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady.c - allocates and frees on two threads from a few stacks, and marks
 * with getppid() the beginning and the end of the part that is to be watched;
 * in between it makes no system call of its own.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define WARM_UP 200000
#define ROUNDS 2000000
#define KEPT 64

static atomic_int warm, done;

static void
churn(unsigned rounds, unsigned *random)
{
	void *kept[KEPT] = { 0 };

	for (unsigned i = 0; i < rounds; i++) {
		unsigned slot = (*random = *random * 1103515245 + 12345) >> 16;

		slot %= KEPT;
		free(kept[slot]);
		kept[slot] = malloc(16 + slot * 16);
	}
	for (unsigned i = 0; i < KEPT; i++)
		free(kept[i]);
}

static void *
work(void *argument)
{
	unsigned random = (unsigned)(size_t)argument;

	churn(WARM_UP, &random);
	atomic_fetch_add(&warm, 1);
	while (atomic_load(&warm) < 3)
		continue;
	churn(ROUNDS, &random);
	atomic_fetch_add(&done, 1);
	while (atomic_load(&done) < 3)
		continue;
	return NULL;
}

int
main(void)
{
	unsigned random = 7;
	pthread_t thread;

	pthread_create(&thread, NULL, work, (void *)1);
	churn(WARM_UP, &random);
	while (atomic_load(&warm) < 1)
		continue;
	(void)getppid();
	atomic_fetch_add(&warm, 2);
	churn(ROUNDS, &random);
	while (atomic_load(&done) < 1)
		continue;
	(void)getppid();
	atomic_fetch_add(&done, 2);
	pthread_join(thread, NULL);
	return 0;
}
