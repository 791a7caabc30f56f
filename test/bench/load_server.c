/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_server.c - a server's shape (Larson and Krishnan, ISMM 1998): each
 * thread holds many blocks of mixed sizes and replaces random ones; now and
 * then it hands all of them to a new thread and ends, so that most blocks are
 * freed by another thread than the one that made them.
 *
 * LIBS: -pthread
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

#define LINEAGES 2
#define GENERATIONS 40
#define BLOCKS 2000
#define REPLACED 80000
#define SIZE_MIN 10
#define SIZE_MAX_ 500

struct session {
	uint64_t random;
	unsigned generation;
	char *blocks[BLOCKS];
};

static void *
serve(void *context)
{
	struct session *session = context;
	pthread_t next;

	for (int i = 0; i < REPLACED; i++) {
		uint32_t slot = random_below(&session->random, BLOCKS);
		uint32_t size = SIZE_MIN + random_below(&session->random,
							SIZE_MAX_ - SIZE_MIN);

		free(session->blocks[slot]);
		session->blocks[slot] = malloc(size);
		session->blocks[slot][0] = (char)i;
		session->blocks[slot][size - 1] = (char)i;
	}
	if (++session->generation == GENERATIONS)
		return NULL;
	pthread_create(&next, NULL, serve, session);
	pthread_join(next, NULL);
	return NULL;
}

int
main(void)
{
	static struct session sessions[LINEAGES];
	pthread_t threads[LINEAGES];

	for (unsigned i = 0; i < LINEAGES; i++) {
		sessions[i].random = i + 1;
		pthread_create(&threads[i], NULL, serve, &sessions[i]);
	}
	for (unsigned i = 0; i < LINEAGES; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
