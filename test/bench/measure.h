/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.h - what the benchmark programs measure with: a clock, the median.
 */
#ifndef HEAPAGENT_BENCH_MEASURE_H
#define HEAPAGENT_BENCH_MEASURE_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* Keeps the compiler from seeing that a block is not used. */
#define keep(p) __asm__ volatile("" : : "g"(p) : "memory")

static inline int64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The processor time of this thread, in nanoseconds. */
static inline double
thread_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The value at that part (0 to 1) of the values; sorts them. */
static inline double
quantile(double *values, int count, double part)
{
	qsort(values, (size_t)count, sizeof(*values), compare_doubles);
	return values[(int)(part * (count - 1) + 0.5)];
}

static inline double
median(double *values, int count)
{
	return quantile(values, count, 0.5);
}

#endif
