/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.c - a multilevel hash table and its filter; see live.h.
 *
 *	level 0	[chunk][chunk]...		256 chunks of 8 slots
 *	level 1	[chunk][chunk][chunk][chunk]...	512 chunks, and so on, doubling
 *
 *	chunk	8 keys (one cache line), 8 blocks (three)
 *	key	address; 0: free
 *
 * A block goes into the first level whose chunk (one for each level, by a
 * hash) has a free slot, and never moves. There is no probing beyond a chunk,
 * so nothing like a tombstone is needed and removal leaves no trace. When no
 * open level has room, the next one is opened. Lower levels fill up before
 * higher ones are used, so the load is near 1 in all but the last two
 * (multilevel hashing: Broder and Karlin, SODA 1990). The levels share half
 * of the region, reserved from the start and touched as they are opened.
 *
 * The filter is not in the region: it can be made again from the keys, and at
 * an address that is fixed when the library is linked it is one load less for
 * every free. At 2^18 counters 10,000 live samples set one in 26.
 */
#include "live.h"

#include <errno.h>
#include <string.h>

#include "counters.h"

#define SLOTS 8
#define LEVEL0_CHUNKS 256
#define LEVELS_MAX 24
#define COUNTER_STUCK 255 /* a full counter stays as it is */

struct chunk {
	CACHE_ALIGNED
	uint64_t keys[SLOTS]; /* each atomic */
	/* Each belongs to whoever put the key, until it takes it out. */
	struct live_block blocks[SLOTS];
};
_Static_assert(sizeof(struct chunk) == 4 * CACHE_LINE, "four lines");

CACHE_ALIGNED uint8_t live_filter[1 << LIVE_FILTER_BITS];

/* Immutable after live_init(). */
static struct chunk *chunks; /* level 0; the others follow it */
static unsigned level_limit; /* how many fit */

/* Atomic: how many levels are open; only grows. On a line of its own. */
static CACHE_ALIGNED uint32_t open_levels;

static size_t
level_chunks(unsigned level)
{
	return (size_t)LEVEL0_CHUNKS << level;
}

int
live_init(void)
{
	uint64_t half = region_header()->size_bytes / 2;
	size_t total = 0;

	while (level_limit < LEVELS_MAX &&
	       (total + level_chunks(level_limit)) * sizeof(struct chunk) <=
		       half)
		total += level_chunks(level_limit++);
	chunks = region_table("live_chunks", sizeof(struct chunk), total,
			      CACHE_LINE);
	if (chunks == NULL || level_limit == 0)
		return -ENOMEM;
	open_levels = 1;
	return 0;
}

/* murmur3's finaliser: every bit of the result depends on every one of z. */
static uint64_t
mix(uint64_t z)
{
	z = (z ^ z >> 33) * UINT64_C(0xff51afd7ed558ccd);
	z = (z ^ z >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return z ^ z >> 33;
}

/* Each level reads other bits of the hash first, so that they fill alike. */
static struct chunk *
chunk_at(uint64_t hash, unsigned level)
{
	unsigned turn = level * 7 % 64;
	uint64_t turned = turn == 0 ? hash : hash << turn | hash >> (64 - turn);

	/* Level n starts after 2^n - 1 times the chunks of level 0. */
	return &chunks[level_chunks(level) - LEVEL0_CHUNKS +
		       (turned & (level_chunks(level) - 1))];
}

/*
 * Relaxed in both: what orders a counter's readers is said at live_maybe().
 * Stuck counters only cost look-ups.
 */
static void
filter_add(uintptr_t address)
{
	uint8_t *counter = &live_filter[live_filter_index(address)];
	uint8_t value = atomic_load_relaxed(counter);

	while (value != COUNTER_STUCK &&
	       !atomic_cas_relaxed(counter, &value, (uint8_t)(value + 1)))
		continue;
}

static void
filter_subtract(uintptr_t address)
{
	uint8_t *counter = &live_filter[live_filter_index(address)];
	uint8_t value = atomic_load_relaxed(counter);

	while (value != COUNTER_STUCK &&
	       !atomic_cas_relaxed(counter, &value, (uint8_t)(value - 1)))
		continue;
}

/* Opens one more level than `levels`. False if there is no more. */
static COLD bool
open_level(uint32_t levels)
{
	uint32_t expected = levels;

	if (levels == level_limit)
		return false;
	/*
	 * Relaxed: a level's memory is zero from the start. A thread that
	 * looks for a block in it learned of the block, and so of the level,
	 * from the inserter. If another thread was faster, so be it.
	 */
	(void)atomic_cas_relaxed(&open_levels, &expected, levels + 1);
	return true;
}

/* The place of a slot that now has the key; NULL if all are taken. */
static struct live_block *
claim_slot(struct chunk *chunk, uint64_t key)
{
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		uint64_t free = 0;

		if (atomic_load_relaxed(&chunk->keys[slot]) != 0)
			continue;
		/*
		 * Acquire: pairs with the release that took the last key out,
		 * so that its remover has read the block before we write it.
		 */
		if (atomic_cas_acquire(&chunk->keys[slot], &free, key))
			return &chunk->blocks[slot];
	}
	return NULL;
}

static struct live_block *
claim(uint64_t address)
{
	uint64_t hash = mix(address);
	unsigned level = 0;

	for (;;) {
		uint32_t levels = atomic_load_relaxed(&open_levels);

		for (; level < levels; level++) {
			struct live_block *place =
				claim_slot(chunk_at(hash, level), address);

			if (place != NULL)
				return place;
		}
		if (!open_level(levels))
			return NULL;
	}
}

bool
live_insert(const void *p, const struct live_block *block)
{
	uintptr_t address = (uintptr_t)p;
	struct live_block *place;

	/* First the filter, so that it never lacks a block of the table. */
	filter_add(address);
	place = claim(address);
	if (place == NULL) {
		filter_subtract(address);
		counter_add(COUNTER_samples_dropped_live_full);
		return false;
	}
	*place = *block;
	return true;
}

/* Takes the address out of the chunk, if it is there. */
static bool
remove_from(struct chunk *chunk, uintptr_t address, struct live_block *block)
{
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		uint64_t *key = &chunk->keys[slot];
		uint64_t expected = address;

		/* Relaxed: the program orders this after the insertion. */
		if (atomic_load_relaxed(key) != address)
			continue;
		*block = chunk->blocks[slot];
		/*
		 * Release: the block was read before the slot is free, for
		 * claim_slot(). An exchange, since a program that frees twice
		 * at a time may have two threads here.
		 */
		if (!atomic_cas_release(key, &expected, 0))
			continue;
		filter_subtract(address);
		return true;
	}
	return false;
}

bool
live_remove(const void *p, struct live_block *block)
{
	uintptr_t address = (uintptr_t)p;
	uint32_t levels = atomic_load_relaxed(&open_levels);
	uint64_t hash = mix(address);

	/* A free slot's key is 0, too. */
	if (address == 0)
		return false;
	for (unsigned level = 0; level < levels; level++)
		if (remove_from(chunk_at(hash, level), address, block))
			return true;
	return false;
}

int
live_each(int (*visit)(void *context, uintptr_t address,
		       const struct live_block *block),
	  void *context)
{
	size_t all =
		level_chunks(atomic_load_relaxed(&open_levels)) - LEVEL0_CHUNKS;
	int result = 0;

	for (size_t i = 0; i < all && result == 0; i++)
		for (unsigned slot = 0; slot < SLOTS && result == 0; slot++) {
			uint64_t key =
				atomic_load_relaxed(&chunks[i].keys[slot]);

			if (key != 0)
				result = visit(context, key,
					       &chunks[i].blocks[slot]);
		}
	return result;
}
