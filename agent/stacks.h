/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.h - the stacks that were sampled, and what was counted on each.
 *
 *	heads[hash]──►stack──►stack──►0		chained by `next`
 *			│ frames[]
 *			└►bucket──►bucket──►0	one for each size class
 *
 * A bucket counts the samples of one stack and one size class. Both lists
 * only ever grow at their head, nothing is removed or moved, so a reader that
 * has a link may keep it for ever and insertion is one compare-and-swap. The
 * heads are as many as the region could hold stacks of common depth, so that
 * chains stay short without growing the table.
 */
#ifndef HEAPAGENT_STACKS_H
#define HEAPAGENT_STACKS_H

#include <stdint.h>

#include "compiler.h"
#include "region.h"

/*
 * The sums of one bucket. The raw ones count samples; the weighted ones are
 * estimates of the program's own objects and bytes, in fixed point, so that a
 * free takes back exactly what its allocation added. All sums are modulo
 * 2^64, so a difference is right even after one of them wrapped.
 */
struct tally {
	uint64_t objects; /* samples */
	uint64_t bytes;	  /* their requested bytes */
	uint64_t
		weighted_objects; /* in units of 2^-TALLY_OBJECT_BITS objects */
	uint64_t weighted_bytes;  /* in units of 2^-TALLY_BYTE_BITS bytes */
};
#define TALLY_OBJECT_BITS 16
#define TALLY_BYTE_BITS 8

struct bucket {
	/* Atomic, relaxed: sums that nothing else is ordered by. */
	struct tally allocated;
	struct tally freed;
	/* Immutable after publish. */
	region_offset next; /* bucket of the same stack */
	region_offset stack;
	/* The size of its first block: the class, and the label `bytes`. */
	uint64_t first_bytes;
};
_Static_assert(sizeof(struct bucket) == 80, "a live sample's own share");

struct stack {
	/* Immutable after publish. */
	uint64_t hash;
	region_offset next; /* stack with the same head */
	uint32_t frame_count;
	/* Atomic: head of the list of buckets. */
	region_offset buckets;
	uint32_t reserved;
	/* Immutable after publish; see frame.h; innermost first. */
	uint64_t frames[];
};

/* Makes the table in the region. 0 or -ENOMEM. [init] */
int stacks_init(void);

/*
 * The size class of an allocation: four classes to each power of two, so that
 * blocks of one class differ by at most a quarter. 0 to 255. [any]
 */
unsigned stacks_size_class(uint64_t size_bytes);

/*
 * Where the bucket of the stack frames[0..count) and the size's class is, made
 * if it is new; 0 if the region is full (counted). Lock-free. [hook]
 */
region_offset stacks_bucket(const uint64_t *frames, unsigned count,
			    uint64_t size_bytes);

/*
 * Calls visit for every bucket there is, in no set order; stops and returns
 * visit's result when that is not 0. Runs beside insertions: a bucket made
 * meanwhile may be missed. [any]
 */
int stacks_each(int (*visit)(void *context, const struct stack *stack,
			     const struct bucket *bucket),
		void *context);

/* Buckets made so far, an upper bound of what stacks_each() meets. [any] */
unsigned stacks_bucket_count(void);

#endif
