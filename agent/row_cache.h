/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_cache.h - rows and frames that were worked out before, without a lock.
 *
 *	one of two entries, by two hashes of pc:  | check | row | frame | - |
 *
 * A table in the region that any thread reads and writes at any time with
 * plain words: no entry is ever locked, so none can stay locked when its
 * writer is stopped, killed or forked away. An entry counts only if
 * check == key + mix(row, frame), where the key is the pc and the generation
 * it was looked up in. Words of two writers do not check: for another row or
 * frame the sum differs by a multiple of an odd 64-bit constant, which is a
 * difference of two pcs (47 bits, in one generation) only by a chance of
 * 2^-17, and then of exactly the two pcs in question only by one of 2^-47.
 *
 * With two places for each pc and either of them overwritten, what is pushed
 * out finds its other place, until nearly all have one (cuckoo hashing: Pagh
 * and Rodler, 2004, below half full). The first table is small; a program for
 * which it is too small gets one of eight times its size, which begins empty.
 */
#ifndef HEAPAGENT_ROW_CACHE_H
#define HEAPAGENT_ROW_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "atomics.h"
#include "compiler.h"

/* 128 KiB, and 1 MiB. */
#define ROW_CACHE_BITS 12
#define ROW_CACHE_BITS_MORE 15
/* 2^64 divided by the golden ratio: Knuth, TAOCP 3, 6.4. Odd. */
#define ROW_CACHE_ODD UINT64_C(0x9e3779b97f4a7c15)
/* Another one, of murmur3. */
#define ROW_CACHE_ODD2 UINT64_C(0xff51afd7ed558ccd)

/* All words atomic. */
struct row_cache_entry {
	uint64_t check;
	uint64_t row;
	uint64_t frame;
	uint64_t unused;
};

_Static_assert(sizeof(struct row_cache_entry) == 32, "two to a cache line");

/*
 * The address of a table and, in its low six bits, 64 less the logarithm of
 * its length: one word, so that both are of the same table. Atomic.
 */
typedef uintptr_t row_cache_table;
extern HIDDEN row_cache_table row_cache;

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

static inline row_cache_table
row_cache_now(void)
{
	/*
	 * Relaxed: a table is zero when it is new, and any entry says itself
	 * if it is complete.
	 */
	return atomic_load_relaxed(&row_cache);
}

/* The entry of one of the two hashes. */
static inline struct row_cache_entry *
row_cache_entry(row_cache_table table, uint64_t pc, uint64_t odd)
{
	struct row_cache_entry *entries =
		(struct row_cache_entry *)(table & ~(uintptr_t)63);

	return &entries[pc * odd >> (table & 63)];
}

static inline uint64_t
row_cache_mix(uint64_t row, uint64_t frame)
{
	return (row ^ (frame << 23 | frame >> 41)) * ROW_CACHE_ODD;
}

static inline bool
row_cache_read(const struct row_cache_entry *entry, uint64_t key, uint64_t *row,
	       uint64_t *frame)
{
	/*
	 * Acquire pairs with row_cache_put(): the record of the module that
	 * the frame names was made before the check was written. Otherwise in
	 * any order: the check tells whether the three words belong together.
	 */
	uint64_t check = atomic_load_acquire(&entry->check);

	*row = atomic_load_relaxed(&entry->row);
	*frame = atomic_load_relaxed(&entry->frame);
	return check == key + row_cache_mix(*row, *frame);
}

/* True, with the row and the frame of pc, if they are there. [any] */
static inline bool
row_cache_get(row_cache_table table, uint64_t pc, uint64_t salt, uint64_t *row,
	      uint64_t *frame)
{
	return likely(row_cache_read(row_cache_entry(table, pc, ROW_CACHE_ODD),
				     pc + salt, row, frame)) ||
	       row_cache_read(row_cache_entry(table, pc, ROW_CACHE_ODD2),
			      pc + salt, row, frame);
}

/* Into the newest table. [any] */
void row_cache_put(uint64_t pc, uint64_t salt, uint64_t row, uint64_t frame);

#endif
