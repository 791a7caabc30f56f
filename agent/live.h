/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.h - the sampled blocks that are in use: address → size, weight, bucket.
 *
 * In front of the table stands a filter of small counters, indexed by a hash
 * of the address: zero says that no sampled block can be there, which is all
 * that a free of an unsampled block looks at.
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
	double weight; /* objects that the sample stands for */
	region_offset bucket;
	uint32_t reserved;
};
_Static_assert(sizeof(struct live_block) == 24, "eight to three cache lines");

/*
 * Which counters are looked at: the address of the first, whose low five bits
 * also say by how much the 32-bit hash is shifted right (18 down to 9): the
 * counters are placed so. One word holds both, so a reader never sees the one
 * without the other. Atomic; valid from the start of the process.
 */
extern HIDDEN uintptr_t live_filter;

static inline uint32_t
live_hash(uintptr_t address)
{
	/* 2^32 / golden ratio: the high bits depend on all lower ones. */
	return (uint32_t)address * UINT32_C(0x9e3779b1);
}

/*
 * False if no block at that address is in the table. A relaxed load of each is
 * enough: whoever frees a block got its address from the thread that inserted
 * it, by synchronisation of the program's own, so the counter's increment (or
 * a later filter's that has it too) happened before. [hook]
 */
static inline bool
live_maybe(const void *p)
{
	uintptr_t filter = atomic_load_relaxed(&live_filter);
	uint32_t index = live_hash((uintptr_t)p) >> (filter & 31);

	return unlikely(arch_byte_is_set(filter, index));
}

/* Makes table and filters in the region. 0 or -ENOMEM. [init] */
int live_init(void);

/*
 * Enters a block. False if it cannot be held: no free slot (counted), or an
 * address no allocator gives (not a multiple of 8). [hook]
 */
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
