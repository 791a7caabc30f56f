/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_cost.h - what dumps of itself cost a program. In microseconds: the time
 * from the signal until pthread_kill() returns, which is what the signalled
 * thread loses; the time until the heap file is there; and what spinner.h says
 * of another thread, in a dump and in as long a time without one.
 */
#ifndef HEAPAGENT_BENCH_DUMP_COST_H
#define HEAPAGENT_BENCH_DUMP_COST_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "measure.h"
#include "spinner.h"

#define DUMP_COST_ROUNDS_MAX 1000
#define DUMP_COST_PATIENCE_NS INT64_C(60000000000)

struct dump_cost {
	double pause_us[DUMP_COST_ROUNDS_MAX];
	double duration_us[DUMP_COST_ROUNDS_MAX];
	double gap_us[DUMP_COST_ROUNDS_MAX];
	double stop_us[DUMP_COST_ROUNDS_MAX];
	double quiet_gap_us[DUMP_COST_ROUNDS_MAX];
	double quiet_stop_us[DUMP_COST_ROUNDS_MAX];
};

static inline void
dump_cost_wait_for(const char *path, int64_t start_ns)
{
	while (access(path, F_OK) != 0) {
		if (now_ns() - start_ns > DUMP_COST_PATIENCE_NS) {
			fprintf(stderr, "no %s\n", path);
			exit(1);
		}
		usleep(100);
	}
}

/* Zeroes if nothing spins. */
static inline struct spinner_gaps
dump_cost_gaps(bool spins)
{
	return spins ? spinner_take() : (struct spinner_gaps){ 0, 0 };
}

static inline void
dump_cost_take(struct dump_cost *cost, int round, const char *path, bool spins)
{
	int64_t start, returned, done;
	struct spinner_gaps gaps;

	(void)dump_cost_gaps(spins);
	start = now_ns();
	/* To this thread: kill() may choose another. */
	pthread_kill(pthread_self(), SIGUSR2);
	returned = now_ns();
	dump_cost_wait_for(path, start);
	done = now_ns();
	gaps = dump_cost_gaps(spins);
	cost->gap_us[round] = gaps.gap_us;
	cost->stop_us[round] = gaps.stop_us;
	cost->pause_us[round] = (double)(returned - start) / 1e3;
	cost->duration_us[round] = (double)(done - start) / 1e3;
	usleep((useconds_t)((done - start) / 1000));
	gaps = dump_cost_gaps(spins);
	cost->quiet_gap_us[round] = gaps.gap_us;
	cost->quiet_stop_us[round] = gaps.stop_us;
}

/*
 * Asks for so many dumps in directory as the program of that name, and prints
 * the median and the largest pause and the median duration; if a thread of
 * spinner.h spins, also the medians of its largest gap in a dump and without
 * one, and of the same two without its wait for a processor.
 */
static inline void
dump_cost_print(const char *directory, const char *name, int rounds, bool spins)
{
	static struct dump_cost cost;
	char path[4096];

	for (int round = 0; round < rounds; round++) {
		snprintf(path, sizeof(path), "%s/%s.%d.%04d.heap.pb.gz",
			 directory, name, getpid(), round + 1);
		dump_cost_take(&cost, round, path, spins);
	}
	printf("%.1f %.1f %.1f", median(cost.pause_us, rounds),
	       quantile(cost.pause_us, rounds, 1),
	       median(cost.duration_us, rounds));
	if (spins)
		printf(" %.1f %.1f %.1f %.1f", median(cost.gap_us, rounds),
		       median(cost.quiet_gap_us, rounds),
		       median(cost.stop_us, rounds),
		       median(cost.quiet_stop_us, rounds));
	printf("\n");
}

#endif
