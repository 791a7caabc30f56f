/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_profile.h - the meaning of the heap and allocs profiles: what was
 * counted in the buckets, turned into pprof samples.
 *
 *	capture (rows, while the host's thread waits) ─► write (afterwards)
 */
#ifndef HEAPAGENT_HEAP_PROFILE_H
#define HEAPAGENT_HEAP_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "pprof.h"
#include "stacks.h"

/* A copy of one bucket, taken when the dump began. */
struct heap_row {
	const struct stack *stack; /* in the region: immutable */
	struct tally allocated;
	struct tally freed;
	uint64_t first_bytes;
};

struct heap_rows {
	struct heap_row *rows;
	unsigned count;
	/* Of all rows together: what pprof_open() wants to know. */
	size_t frame_count;
};

/*
 * Copies every bucket's sums into the arena. In each bucket the frees are read
 * before the allocations, so nothing is in use that was not allocated.
 * 0 or -ENOMEM. [dump]
 */
int heap_rows_capture(struct heap_rows *rows, struct arena *arena);
/* What that takes of the arena now, with room for new buckets. [any] */
size_t heap_rows_arena_bytes(void);

/*
 * Writes the sample types, the period and one sample for each row with an
 * allocation, its numeric label `bytes` the size of its first block: it is the
 * same in every dump, because readers take samples whose labels differ for
 * different ones. The heap and the allocs profile differ in
 * default_sample_type only. [dump]
 */
void heap_profile_write(struct pprof *pprof, const struct heap_rows *rows,
			const char *default_sample_type, uint64_t rate_bytes);

/*
 * A sum of which another was taken back, modulo 2^64; 0 if that is negative,
 * which happens when the two were read while a sample came in. [any]
 */
uint64_t heap_in_use(uint64_t allocated, uint64_t freed);

/*
 * The whole number of units (of 2^-bits) in a fixed-point sum, rounded so that
 * the expectation is the sum itself: up with the probability of its fraction.
 * dither (0 to 1 in units of 2^-bits) is that probability's draw, constant for
 * a bucket; 0 truncates, as Go's runtime/pprof does. [any]
 */
uint64_t heap_round(uint64_t fixed, unsigned bits, uint64_t dither);

#endif
