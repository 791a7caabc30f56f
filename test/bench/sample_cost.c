/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_cost.c - nanoseconds of malloc and free under 32 frames.
 *
 *	sample_cost THREADS same|different
 *
 * Each thread's calls come from one stack: all threads' from the same, or
 * each thread's from one of its own. Prints the median over rounds and
 * threads. With HEAPAGENT_RATE=1 each pair is a sample taken and given back.
 *
 * LIBS: -pthread
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

#define FRAMES 32
#define ROUNDS 41
#define ROUND_PAIRS 5000
#define THREADS_MAX 16

struct worker {
	pthread_t thread;
	unsigned way; /* whose bits choose the call sites */
	double round_ns[ROUNDS];
};

static pthread_barrier_t barrier;

static void
measure(struct worker *worker)
{
	for (int round = 0; round < ROUNDS; round++) {
		int64_t start = now_ns();

		for (int i = 0; i < ROUND_PAIRS; i++) {
			void *p = malloc(64);

			keep(p);
			free(p);
		}
		worker->round_ns[round] =
			(double)(now_ns() - start) / ROUND_PAIRS;
	}
}

static __attribute__((noinline)) void
descend(struct worker *worker, unsigned level)
{
	if (level == 0)
		measure(worker);
	else if (worker->way >> (level % 4) & 1)
		descend(worker, level - 1);
	else
		descend(worker, level - 1);
	__asm__ volatile("");
}

static void *
run(void *context)
{
	struct worker *worker = context;

	pthread_barrier_wait(&barrier);
	/* Under run, start_thread and clone3, and with measure. */
	descend(worker, FRAMES - 5);
	return NULL;
}

int
main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	static double all[THREADS_MAX * ROUNDS];
	int threads = argc == 3 ? atoi(argv[1]) : 0;
	int different = argc == 3 && strcmp(argv[2], "different") == 0;

	if (threads < 1 || threads > THREADS_MAX) {
		fprintf(stderr, "usage: sample_cost THREADS same|different\n");
		return 2;
	}
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++) {
		workers[i].way = different ? (unsigned)i : 0;
		pthread_create(&workers[i].thread, NULL, run, &workers[i]);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		memcpy(all + i * ROUNDS, workers[i].round_ns,
		       sizeof(workers[i].round_ns));
	}
	printf("%.1f\n", median(all, threads * ROUNDS));
	return 0;
}
