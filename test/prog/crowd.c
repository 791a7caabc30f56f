/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowd.c - `crowd THREADS BLOCKS`: so many threads at a time allocate and free
 * so many blocks of 1,000 bytes each under 60 frames. Then it asks for a dump
 * and prints how many bytes these were.
 *
 * CFLAGS: -O1 -fno-optimize-sibling-calls -fno-inline
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SIZE 1000
#define FRAMES 60

static pthread_barrier_t together;
static unsigned long blocks;
static void *volatile sink;

static void
churn(unsigned depth)
{
	if (depth > 0) {
		churn(depth - 1);
		__asm__ volatile("");
		return;
	}
	for (unsigned long i = 0; i < blocks; i++) {
		void *p = malloc(SIZE);

		sink = p;
		free(p);
	}
}

static void *
body(void *unused)
{
	pthread_barrier_wait(&together);
	churn(FRAMES);
	return unused;
}

int
main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	pthread_t *ids = calloc(threads, sizeof(*ids));
	pthread_attr_t small;

	blocks = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	pthread_barrier_init(&together, NULL, threads);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 << 10);
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&ids[i], &small, body, NULL) != 0)
			abort();
	for (unsigned i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	kill(getpid(), SIGUSR2);
	printf("%lu\n", threads * blocks * SIZE);
	return 0;
}
