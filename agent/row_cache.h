/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_cache.h - rows and frames that were worked out before, without a lock.
 *
 *	entry = hash of pc:  | check | row | frame | - |     32 bytes
 *
 * A direct-mapped table in the region that any thread reads and writes at any
 * time with plain words: no entry is ever locked, so none can stay locked when
 * its writer is stopped, killed or forked away. An entry counts only if
 * check == key + mix(row, frame), where the key is the pc and the generation
 * it was looked up in. Words of two writers do not check: for another row or
 * frame the sum differs by a multiple of an odd 64-bit constant, which is a
 * difference of two pcs (47 bits, in one generation) only by a chance of
 * 2^-17, and then of exactly the two pcs in question only by one of 2^-47.
 */
#ifndef HEAPAGENT_ROW_CACHE_H
#define HEAPAGENT_ROW_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "atomics.h"

#define ROW_CACHE_BITS 12
/* 2^64 divided by the golden ratio: Knuth, TAOCP 3, 6.4. Odd. */
#define ROW_CACHE_ODD UINT64_C(0x9e3779b97f4a7c15)

/* All words atomic. */
struct row_cache_entry {
	uint64_t check;
	uint64_t row;
	uint64_t frame;
	uint64_t unused;
};

_Static_assert(sizeof(struct row_cache_entry) == 32, "two to a cache line");

/* The table; immutable after row_cache_init(). */
extern struct row_cache_entry *row_cache;

/* 0 or -ENOMEM. [init] */
int row_cache_init(void);

/*
 * What to add to a pc to get its key in a generation. The same pc has another
 * key in each of 2^64 generations, since the factor is odd.
 */
static inline uint64_t
row_cache_salt(uint64_t generation)
{
	return generation * ROW_CACHE_ODD;
}

static inline struct row_cache_entry *
row_cache_entry(uint64_t pc)
{
	return &row_cache[pc * ROW_CACHE_ODD >> (64 - ROW_CACHE_BITS)];
}

static inline uint64_t
row_cache_mix(uint64_t row, uint64_t frame)
{
	return (row ^ (frame << 23 | frame >> 41)) * ROW_CACHE_ODD;
}

/* True, with the row and the frame of pc, if they are there. [any] */
static inline bool
row_cache_get(uint64_t pc, uint64_t salt, uint64_t *row, uint64_t *frame)
{
	struct row_cache_entry *entry = row_cache_entry(pc);

	/*
	 * Relaxed, in any order: the check tells whether the three words
	 * belong together, and nothing else is reached through them.
	 */
	*row = atomic_load_relaxed(&entry->row);
	*frame = atomic_load_relaxed(&entry->frame);
	return atomic_load_relaxed(&entry->check) ==
	       pc + salt + row_cache_mix(*row, *frame);
}

/* [any] */
static inline void
row_cache_put(uint64_t pc, uint64_t salt, uint64_t row, uint64_t frame)
{
	struct row_cache_entry *entry = row_cache_entry(pc);

	/* Relaxed, as in row_cache_get(). */
	atomic_store_relaxed(&entry->check,
			     pc + salt + row_cache_mix(row, frame));
	atomic_store_relaxed(&entry->row, row);
	atomic_store_relaxed(&entry->frame, frame);
}

#endif
