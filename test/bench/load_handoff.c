/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_handoff.c - one thread allocates what another frees (the shape of
 * xmalloc-test): batches of blocks go from maker to taker through a queue.
 *
 * LIBS: -pthread
 */
#include <pthread.h>
#include <stdlib.h>

#include "random.h"

#define BATCH 256
#define QUEUE 16
#define BATCHES 24000

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	unsigned made, taken;
	void *blocks[QUEUE][BATCH];
} queue = { .mutex = PTHREAD_MUTEX_INITIALIZER,
	    .changed = PTHREAD_COND_INITIALIZER };

static void
advance(unsigned *counter)
{
	pthread_mutex_lock(&queue.mutex);
	(*counter)++;
	pthread_cond_signal(&queue.changed);
	pthread_mutex_unlock(&queue.mutex);
}

static void
await_length(unsigned low, unsigned high)
{
	pthread_mutex_lock(&queue.mutex);
	while (queue.made - queue.taken < low ||
	       queue.made - queue.taken > high)
		pthread_cond_wait(&queue.changed, &queue.mutex);
	pthread_mutex_unlock(&queue.mutex);
}

static void *
make(void *unused)
{
	uint64_t random = 1;

	for (unsigned n = 0; n < BATCHES; n++) {
		await_length(0, QUEUE - 1);
		for (int i = 0; i < BATCH; i++)
			queue.blocks[n % QUEUE][i] =
				malloc(16 + random_below(&random, 240));
		advance(&queue.made);
	}
	return unused;
}

int
main(void)
{
	pthread_t maker;

	pthread_create(&maker, NULL, make, NULL);
	for (unsigned n = 0; n < BATCHES; n++) {
		await_length(1, QUEUE);
		for (int i = 0; i < BATCH; i++)
			free(queue.blocks[n % QUEUE][i]);
		advance(&queue.taken);
	}
	pthread_join(maker, NULL);
	return 0;
}
