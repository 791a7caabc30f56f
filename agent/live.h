/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.h - the sampled blocks that are in use: address → size, weight, bucket.
 *
 * In front of the table stands a filter of small counters, indexed by some
 * bits of the address: zero says that no sampled block can be there, which is
 * all that a free of an unsampled block looks at.
 *
 * An address is in the table at most once. The program itself orders the
 * operations on one address: it is inserted before malloc returns it and
 * removed before the real free gets it. Everything is lock-free; nothing of
 * it is slower after any number of insertions and removals.
 */
#ifndef HEAPAGENT_LIVE_H
#define HEAPAGENT_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/x86_64.h"
#include "atomics.h"
#include "compiler.h"
#include "region.h"

struct live_block {
	uint64_t size_bytes;
	/* Objects that the sample stands for, as sampler_weight() gives them */
	uint64_t weight;
	region_offset bucket;
	uint32_t reserved;
};
_Static_assert(sizeof(struct live_block) == 24, "eight to three cache lines");

/*
 * The filter: a counter for each 64 bytes of address space, and again from the
 * beginning every 16 MiB. Neighbours in memory are neighbours here, so what a
 * program's frees read of it is 1/64 of the memory they free, and no hash of
 * a block far away pushes the program's own data out of the cache. Atomic.
 */
#define LIVE_GRANULE_BITS 6
#define LIVE_FILTER_BITS 18
extern HIDDEN uint8_t live_filter[1 << LIVE_FILTER_BITS];

static inline uint32_t
live_filter_index(uintptr_t address)
{
	return (uint32_t)address >> LIVE_GRANULE_BITS &
	       ((1U << LIVE_FILTER_BITS) - 1);
}

/*
 * False if no block at that address is in the table. A relaxed load is
 * enough: whoever frees a block got its address from the thread that inserted
 * it, by synchronisation of the program's own, so the counter's increment
 * happened before. [hook]
 */
static inline bool
live_maybe(const void *p)
{
	uint32_t index = live_filter_index((uintptr_t)p);

	return unlikely(arch_byte_is_set((uintptr_t)live_filter, index));
}

/* Makes the table in the region. 0 or -ENOMEM. [init] */
int live_init(void);

/* Enters a block. False if there is no free slot (counted). [hook] */
bool live_insert(const void *p, const struct live_block *block);

/* Takes a block out. False if it is not there. [hook] */
bool live_remove(const void *p, struct live_block *block);

/*
 * Calls visit for every block; stops and returns visit's result when that is
 * not 0. Exact only while nothing is inserted or removed. [any]
 */
int live_each(int (*visit)(void *context, uintptr_t address,
			   const struct live_block *block),
	      void *context);

#endif
