/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.h - the benchmarks' random numbers: the same in every run.
 */
#ifndef HEAPAGENT_BENCH_RANDOM_H
#define HEAPAGENT_BENCH_RANDOM_H

#include <stdint.h>

/* Knuth's MMIX multiplier (TAOCP 2, 3.3.4); the high bits are the good ones. */
static inline uint32_t
random_next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) +
		 UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 32);
}

/* 0 to n - 1. */
static inline uint32_t
random_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((uint64_t)random_next(state) * n >> 32);
}

#endif
