/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spinner.h - a thread that reads the clock all the time: its largest gap
 * between two readings is how long it was kept from running, measured from
 * inside. What of a gap it only waited for a processor, which others had, the
 * kernel knows (proc_pid_schedstat: the second number): the rest is how long it
 * was stopped.
 */
#ifndef HEAPAGENT_BENCH_SPINNER_H
#define HEAPAGENT_BENCH_SPINNER_H

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "measure.h"

/* A reading takes 25 ns; shorter than this it was not away. */
#define SPINNER_AWAY_NS INT64_C(3000)
/* The file takes 1 to 2 us. */
#define SPINNER_READ_NS INT64_C(10000)

/* Atomic. */
static int64_t spinner_gap_ns;
static int64_t spinner_stop_ns;
static int spinner_asked; /* 1: it shall say that it is up to date */

static inline int64_t
spinner_waited_ns(int fd)
{
	char text[128];
	long long waited = 0;
	ssize_t r = pread(fd, text, sizeof(text) - 1, 0);

	text[r > 0 ? r : 0] = '\0';
	if (sscanf(text, "%*s %lld", &waited) != 1)
		return 0;
	return waited;
}

/* Relaxed: one writer; whoever takes it asks first, see below. */
static inline void
spinner_raise(int64_t *largest, int64_t value)
{
	if (value > __atomic_load_n(largest, __ATOMIC_RELAXED))
		__atomic_store_n(largest, value, __ATOMIC_RELAXED);
}

static inline void *
spinner_run(void *unused)
{
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	int64_t waited = spinner_waited_ns(fd), last = now_ns();

	for (;;) {
		int64_t now = now_ns();

		if (now - last > SPINNER_AWAY_NS) {
			int64_t before = waited;

			/* The two belong together: until nothing came between
			 * them. */
			do {
				now = now_ns();
				waited = spinner_waited_ns(fd);
			} while (now_ns() - now > SPINNER_READ_NS);
			spinner_raise(&spinner_gap_ns, now - last);
			spinner_raise(&spinner_stop_ns,
				      now - last - (waited - before));
			now = now_ns();
		}
		last = now;
		/* Acquire and release pair with spinner_take(): a gap that
		 * ends now is in before it is taken. */
		if (__atomic_load_n(&spinner_asked, __ATOMIC_ACQUIRE))
			__atomic_store_n(&spinner_asked, 0, __ATOMIC_RELEASE);
	}
	return unused;
}

/* Starts the one there is. */
static inline void
spinner_start(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, spinner_run, NULL) != 0)
		exit(2);
}

struct spinner_gaps {
	double gap_us;
	double stop_us;
};

/* The largest since the last call, one that lasts until now included. */
static inline struct spinner_gaps
spinner_take(void)
{
	struct spinner_gaps gaps;

	__atomic_store_n(&spinner_asked, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&spinner_asked, __ATOMIC_ACQUIRE))
		sched_yield();
	gaps.gap_us = (double)__atomic_exchange_n(&spinner_gap_ns, 0,
						  __ATOMIC_RELAXED) /
		      1e3;
	gaps.stop_us = (double)__atomic_exchange_n(&spinner_stop_ns, 0,
						   __ATOMIC_RELAXED) /
		       1e3;
	return gaps;
}

#endif
