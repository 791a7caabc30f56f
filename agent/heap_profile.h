/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_profile.h - the meaning of the heap and allocs profiles: what was
 * counted in the buckets, turned into pprof samples.
 *
 *	capture (rows, while the host's thread waits) ─► write (afterwards)
 */
#ifndef HEAPAGENT_HEAP_PROFILE_H
#define HEAPAGENT_HEAP_PROFILE_H

#include <stdint.h>

#include "arena.h"
#include "stacks.h"

/* A copy of one bucket, taken when the dump began. */
struct heap_row {
	const struct stack *stack; /* in the region: immutable */
	struct tally allocated;
	struct tally freed;
	uint32_t size_class;
};

struct heap_rows {
	struct heap_row *rows;
	unsigned count;
};

/*
 * Copies every bucket's sums into the arena. In each bucket the frees are read
 * before the allocations, so nothing is in use that was not allocated.
 * 0 or -ENOMEM. [dump]
 */
int heap_rows_capture(struct heap_rows *rows, struct arena *arena);

/*
 * The whole number of units (of 2^-bits) in a fixed-point sum, rounded so that
 * the expectation is the sum itself: up with the probability of its fraction.
 * dither (0 to 1 in units of 2^-bits) is that probability's draw, constant for
 * a bucket; 0 truncates, as Go's runtime/pprof does. [any]
 */
uint64_t heap_round(uint64_t fixed, unsigned bits, uint64_t dither);

#endif
