/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pause.c - what a dump costs the program it is made in:
 *
 *	pause STACKS ROUNDS [spin]
 *
 * Holds one block under each of STACKS distinct stacks and asks for ROUNDS
 * dumps of itself. Prints, in microseconds: the median and the largest time
 * from kill() until it returns, which is what the signalled thread loses, and
 * the median until the heap file is there. With `spin` another thread reads
 * the clock all the time, and its largest gap during a dump (median of the
 * rounds), and in as long a time without a dump, follow; and the same two
 * without what it waited for a processor in its gap.
 *
 * LIBS: -pthread
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "branches.h"
#include "measure.h"
#include "spinner.h"

#define ROUNDS_MAX 1000
#define PATIENCE_NS INT64_C(20000000000)

static bool spinning;

static void
leaf(void *context)
{
	(void)context;
	keep(malloc(16));
}

/* Zeroes if nothing spins. */
static struct spinner_gaps
take_gaps(void)
{
	return spinning ? spinner_take() : (struct spinner_gaps){ 0, 0 };
}

static void
wait_for(const char *path, int64_t start)
{
	while (access(path, F_OK) != 0) {
		if (now_ns() - start > PATIENCE_NS) {
			fprintf(stderr, "pause: no %s\n", path);
			exit(1);
		}
		usleep(100);
	}
}

struct figures {
	double pause_us[ROUNDS_MAX];
	double duration_us[ROUNDS_MAX];
	double gap_us[ROUNDS_MAX];
	double stop_us[ROUNDS_MAX];
	double quiet_gap_us[ROUNDS_MAX];
	double quiet_stop_us[ROUNDS_MAX];
};

static void
dump_once(struct figures *figures, int round, const char *path)
{
	int64_t start, returned, done;
	struct spinner_gaps gaps;

	(void)take_gaps();
	start = now_ns();
	kill(getpid(), SIGUSR2);
	returned = now_ns();
	wait_for(path, start);
	done = now_ns();
	gaps = take_gaps();
	figures->gap_us[round] = gaps.gap_us;
	figures->stop_us[round] = gaps.stop_us;
	figures->pause_us[round] = (double)(returned - start) / 1e3;
	figures->duration_us[round] = (double)(done - start) / 1e3;
	usleep((useconds_t)((done - start) / 1000));
	gaps = take_gaps();
	figures->quiet_gap_us[round] = gaps.gap_us;
	figures->quiet_stop_us[round] = gaps.stop_us;
}

int
main(int argc, char **argv)
{
	static struct figures figures;
	const char *directory = getenv("HEAPAGENT_DIR");
	int rounds = argc >= 3 ? atoi(argv[2]) : 0;
	char path[4096];

	if (rounds < 1 || rounds > ROUNDS_MAX || directory == NULL) {
		fprintf(stderr, "usage: HEAPAGENT_DIR=DIR pause STACKS ROUNDS "
				"[spin]\n");
		return 2;
	}
	branches_visit(atol(argv[1]), leaf, NULL);
	spinning = argc > 3;
	if (spinning)
		spinner_start();
	for (int round = 0; round < rounds; round++) {
		snprintf(path, sizeof(path), "%s/pause.%d.%04d.heap.pb.gz",
			 directory, getpid(), round + 1);
		dump_once(&figures, round, path);
	}
	printf("%.1f %.1f %.1f", median(figures.pause_us, rounds),
	       quantile(figures.pause_us, rounds, 1),
	       median(figures.duration_us, rounds));
	if (spinning)
		printf(" %.1f %.1f %.1f %.1f", median(figures.gap_us, rounds),
		       median(figures.quiet_gap_us, rounds),
		       median(figures.stop_us, rounds),
		       median(figures.quiet_stop_us, rounds));
	printf("\n");
	return 0;
}
