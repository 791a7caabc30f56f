/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_filter.h - small counters in front of the live table, indexed by some
 * bits of the address: zero says that no sampled block can be there, which is
 * all that a free of an unsampled block looks at.
 *
 *	live_filter ─► | mask, generation | counter, counter, ... |
 *
 * A counter stands for 64 bytes of address space, and again from the beginning
 * every so many. Neighbours in memory are neighbours here, so what a program's
 * frees read of it is 1/64 of the memory they free, and no hash of a block far
 * away pushes the program's own data out of the cache.
 *
 * There are up to three, each eight times as large as the one before, of which
 * live_filter is the one that frees read: one word, so that no free sees the
 * mask of one and the counters of another. How blocks come from one into the
 * next is in live.c.
 */
#ifndef HEAPAGENT_LIVE_FILTER_H
#define HEAPAGENT_LIVE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/x86_64.h"
#include "atomics.h"
#include "compiler.h"

/* 256 KiB, 2 MiB and 16 MiB; periods of 16 MiB, 128 MiB and 1 GiB. */
#define LIVE_FILTERS 3
#define LIVE_FILTER_BITS_FIRST 18
#define LIVE_FILTER_BITS_MORE 3

/* In front of the counters, on a line that only is read. */
struct live_filter_head {
	CACHE_ALIGNED
	uint32_t unused[14];
	/* Immutable after publish. */
	uint32_t mask; /* the number of counters, less one */
	uint32_t generation;
};

/* Atomic: the counters that frees read; only ever to a later filter. */
extern HIDDEN uint8_t *live_filter;

static inline const struct live_filter_head *
live_filter_head(const uint8_t *counters)
{
	return (const struct live_filter_head *)(const void *)counters - 1;
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
	return unlikely(arch_filter_is_set(&live_filter, (uintptr_t)p));
}

/*
 * The same, of an address for which that is true, and more exactly: a counter
 * of one block tells it from nearly all others. [hook]
 */
bool live_filter_holds(uintptr_t address);

/* The first filter begins to count. [init] */
void live_filter_init(void);

/* Atomic; only grows. Blocks are counted in it and those before it. */
extern HIDDEN uint32_t live_filter_last;

/* The generation of the filter that frees read. [any] */
static inline unsigned
live_filter_current(void)
{
	/*
	 * Relaxed: what is behind it was there before it was published, and
	 * is reached through it.
	 */
	return live_filter_head(atomic_load_relaxed(&live_filter))->generation;
}

/* The generation of the newest filter. [any] */
static inline unsigned
live_filter_newest(void)
{
	/* Acquire pairs with live_filter_make(): the counters are there. */
	return atomic_load_acquire(&live_filter_last);
}

/* Of one filter, that there is. Lock-free. [any] */
void live_filter_add(unsigned generation, uintptr_t address);
void live_filter_subtract(unsigned generation, uintptr_t address);

/*
 * Makes a filter, all zero, and then the newest. False if it is there already
 * or there is no memory. [any]
 */
bool live_filter_make(unsigned generation);

/* From now on frees read it, if it is later than what they read. [any] */
void live_filter_use(unsigned generation);

/* What a filter's counters take. [any] */
size_t live_filter_bytes(unsigned generation);

#endif
