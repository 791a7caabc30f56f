/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spinner.h - a thread that reads the clock all the time: its largest gap
 * between two readings is how long it was kept from running, measured from
 * inside.
 */
#ifndef HEAPAGENT_BENCH_SPINNER_H
#define HEAPAGENT_BENCH_SPINNER_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>

#include "measure.h"

/* Atomic. */
static int64_t spinner_gap_ns;
static int spinner_asked; /* 1: it shall say that it is up to date */

static inline void *
spinner_run(void *unused)
{
	int64_t last = now_ns();

	for (;;) {
		int64_t now = now_ns(), gap = now - last;

		last = now;
		if (gap > __atomic_load_n(&spinner_gap_ns, __ATOMIC_RELAXED))
			__atomic_store_n(&spinner_gap_ns, gap,
					 __ATOMIC_RELAXED);
		/* Acquire and release pair with spinner_take_gap_us(): a gap
		 * that ends now is in before it is taken. */
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

/* The largest gap since the last call, one that lasts until now included. */
static inline double
spinner_take_gap_us(void)
{
	__atomic_store_n(&spinner_asked, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&spinner_asked, __ATOMIC_ACQUIRE))
		sched_yield();
	return (double)__atomic_exchange_n(&spinner_gap_ns, 0,
					   __ATOMIC_RELAXED) /
	       1e3;
}

#endif
