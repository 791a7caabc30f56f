/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.c - a multilevel hash table and its filter; see live.h.
 *
 *	level 0	[chunk][chunk]...		32 chunks of 8 slots
 *	level 1	[chunk][chunk][chunk][chunk]...	64 chunks, and so on, doubling
 *
 *	chunk	8 keys (one cache line), 8 blocks (three)
 *	key	address | number of filters it is counted in; 0: free
 *
 * A block goes into the first level whose chunk (one for each level, by a
 * hash) has a free slot, and never moves. There is no probing beyond a chunk,
 * so nothing like a tombstone is needed and removal leaves no trace. When no
 * open level has room, the next one is opened. Lower levels fill up before
 * higher ones are used, so the load is near 1 in all but the last two
 * (multilevel hashing: Broder and Karlin, SODA 1990). The levels share half
 * of the region, reserved from the start and touched as they are opened.
 *
 * The filter has up to five widths, each a table of 8-bit counters of its
 * own. A block is counted in all widths that are `maintained`; readers use
 * the widest that is published. A wider one is added when the table has grown:
 *
 *	grower				inserter
 *	maintained = w			key into its slot
 *	fence				fence
 *	count every key seen in w	count own key in maintained
 *	publish w			return
 *
 * Either the grower sees the key or the inserter sees the new width (or
 * both, and the key's own count, advanced by compare-and-swap, lets just one
 * of them do it), so a published width has every block that was returned.
 */
#include "live.h"

#include <errno.h>
#include <string.h>

#include "counters.h"

#define SLOTS 8
#define LEVEL0_CHUNKS 32
#define LEVELS_MAX 24
#define COUNT_MASK UINT64_C(7) /* malloc's addresses are multiples of 8 */
#define COUNTER_STUCK 255      /* a full counter stays as it is */

struct chunk {
	CACHE_ALIGNED
	uint64_t keys[SLOTS]; /* each atomic */
	/* Each belongs to whoever put the key, until it takes it out. */
	struct live_block blocks[SLOTS];
};
_Static_assert(sizeof(struct chunk) == 4 * CACHE_LINE, "four lines");

/*
 * The widths, and the level whose opening makes each worth its cache lines.
 * With levels 0 to n-1 full a level n opens, at no more than 256 * 2^n blocks:
 * so each width is left at 1/8 to 1/4 of a block a counter. The narrowest is
 * for programs of some 50 MB, whose own data is what their cache is for.
 */
static const struct {
	unsigned bits;
	unsigned from_level;
} widths[] = { { 12, 0 }, { 14, 1 }, { 17, 3 }, { 20, 7 }, { 23, 10 } };
#define WIDTHS ARRAY_SIZE(widths)
_Static_assert(WIDTHS <= COUNT_MASK, "a key can count its widths");

/* All zero: before live_init(), and for ever if there is no region. */
static CACHE_ALIGNED uint8_t no_blocks[(1 << 12) + CACHE_LINE];

READ_MOSTLY uintptr_t live_filter = (uintptr_t)no_blocks + 20;

/* Immutable after live_init(). */
static struct chunk *chunks; /* level 0; the others follow it */
static unsigned level_limit; /* how many fit */
static unsigned width_limit; /* likewise */
/*
 * Each starts as many bytes behind a multiple of 32 as the hash is shifted
 * by, so its address is the word that live_filter takes.
 */
static uint8_t *counters[WIDTHS];

/* Atomic; both only grow. On a line that only growth writes. */
static CACHE_ALIGNED struct {
	uint32_t levels;     /* open: 1 to level_limit */
	uint32_t maintained; /* 1 to width_limit */
} state;

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
	uint8_t *table;

	for (unsigned w = 0; w < WIDTHS; w++) {
		size_t bytes = (size_t)1 << widths[w].bits;

		if (bytes > half / 8)
			break;
		table = region_table("live_filter", 1, bytes + CACHE_LINE,
				     CACHE_LINE);
		if (table == NULL)
			return -ENOMEM;
		counters[w] = table + 32 - widths[w].bits;
		width_limit = w + 1;
	}
	while (level_limit < LEVELS_MAX &&
	       (total + level_chunks(level_limit)) * sizeof(struct chunk) <=
		       half)
		total += level_chunks(level_limit++);
	chunks = region_table("live_chunks", sizeof(struct chunk), total,
			      CACHE_LINE);
	if (chunks == NULL || width_limit == 0 || level_limit == 0)
		return -ENOMEM;
	state.levels = 1;
	state.maintained = 1;
	/* Release: the state above before a reader can find a counter. */
	atomic_store_release(&live_filter, (uintptr_t)counters[0]);
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
filter_add(unsigned width, uintptr_t address)
{
	uint8_t *counter = &counters[width][live_hash(address) >>
					    (32 - widths[width].bits)];
	uint8_t value = atomic_load_relaxed(counter);

	while (value != COUNTER_STUCK &&
	       !atomic_cas_relaxed(counter, &value, (uint8_t)(value + 1)))
		continue;
}

static void
filter_subtract(unsigned width, uintptr_t address)
{
	uint8_t *counter = &counters[width][live_hash(address) >>
					    (32 - widths[width].bits)];
	uint8_t value = atomic_load_relaxed(counter);

	while (value != COUNTER_STUCK &&
	       !atomic_cas_relaxed(counter, &value, (uint8_t)(value - 1)))
		continue;
}

/*
 * Counts the key, if it is still that of the address, in each width that is
 * maintained and that it is not counted in. The counter goes up before the
 * key says so, so that no remover can take it down first.
 */
static void
count_key(uint64_t *key, uintptr_t address)
{
	/* Relaxed: callers have a fence before; the key has its own order. */
	unsigned maintained = atomic_load_relaxed(&state.maintained);
	uint64_t value = atomic_load_relaxed(key);

	while ((value & ~COUNT_MASK) == address &&
	       (value & COUNT_MASK) < maintained) {
		unsigned width = (unsigned)(value & COUNT_MASK);

		filter_add(width, address);
		if (atomic_cas_relaxed(key, &value, value + 1))
			value++;
		else
			filter_subtract(width, address);
	}
}

/* Adds the next width and makes it the one that readers use. */
static COLD void
widen_filter(unsigned width)
{
	uintptr_t next = (uintptr_t)counters[width];
	uintptr_t current = atomic_load_relaxed(&live_filter);
	uint32_t expected = width;
	size_t all;

	/* Relaxed: the fence below orders it. One grower for each width. */
	if (!atomic_cas_relaxed(&state.maintained, &expected, width + 1))
		return;
	/* Pairs with the fence in live_insert(): see the head of this file. */
	atomic_fence_seq_cst();
	/*
	 * Relaxed, but after the fence: a key in a level that was opened too
	 * late to be seen here has its inserter's fence after ours, so the
	 * inserter sees the new width.
	 */
	all = level_chunks(atomic_load_relaxed(&state.levels)) - LEVEL0_CHUNKS;
	for (size_t i = 0; i < all; i++)
		for (unsigned slot = 0; slot < SLOTS; slot++) {
			uint64_t *key = &chunks[i].keys[slot];
			uint64_t value = atomic_load_relaxed(key);

			if (value != 0)
				count_key(key, value & ~COUNT_MASK);
		}
	/*
	 * Release: the counts before the word that leads to them. A slower
	 * grower of a narrower width must not go back.
	 */
	while ((current & 31) > (next & 31) &&
	       !atomic_cas_release(&live_filter, &current, next))
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
	if (!atomic_cas_relaxed(&state.levels, &expected, levels + 1))
		return true;
	for (unsigned w = 1; w < width_limit; w++)
		if (widths[w].from_level == levels)
			widen_filter(w);
	return true;
}

/* A slot of the chunk for the key; NULL if all are taken. */
static uint64_t *
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
			return &chunk->keys[slot];
	}
	return NULL;
}

static uint64_t *
claim(uint64_t hash, uint64_t key, struct live_block **block)
{
	unsigned level = 0;

	for (;;) {
		uint32_t levels = atomic_load_relaxed(&state.levels);

		for (; level < levels; level++) {
			struct chunk *chunk = chunk_at(hash, level);
			uint64_t *slot = claim_slot(chunk, key);

			if (slot == NULL)
				continue;
			*block = &chunk->blocks[slot - chunk->keys];
			return slot;
		}
		if (!open_level(levels))
			return NULL;
	}
}

bool
live_insert(const void *p, const struct live_block *block)
{
	uintptr_t address = (uintptr_t)p;
	unsigned counted = atomic_load_relaxed(&state.maintained);
	struct live_block *place;
	uint64_t *key;

	if ((address & COUNT_MASK) != 0)
		return false;
	for (unsigned w = 0; w < counted; w++)
		filter_add(w, address);
	key = claim(mix(address), address | counted, &place);
	if (key == NULL) {
		for (unsigned w = 0; w < counted; w++)
			filter_subtract(w, address);
		counter_add(COUNTER_samples_dropped_live_full);
		return false;
	}
	*place = *block;
	/* Pairs with the fence in widen_filter(): see the head of this file. */
	atomic_fence_seq_cst();
	count_key(key, address);
	return true;
}

/* Takes the address out of the chunk, if it is there. */
static bool
remove_from(struct chunk *chunk, uintptr_t address, struct live_block *block)
{
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		uint64_t *key = &chunk->keys[slot];
		/* Relaxed: the program orders this after the insertion. */
		uint64_t value = atomic_load_relaxed(key);

		while ((value & ~COUNT_MASK) == address) {
			*block = chunk->blocks[slot];
			/*
			 * Release: the block was read before the slot is free,
			 * for claim_slot(). Fails if a grower counted the key
			 * meanwhile.
			 */
			if (!atomic_cas_release(key, &value, 0))
				continue;
			for (unsigned w = 0; w < (value & COUNT_MASK); w++)
				filter_subtract(w, address);
			return true;
		}
	}
	return false;
}

bool
live_remove(const void *p, struct live_block *block)
{
	uintptr_t address = (uintptr_t)p;
	uint32_t levels = atomic_load_relaxed(&state.levels);
	uint64_t hash = mix(address);

	if (address == 0 || (address & COUNT_MASK) != 0)
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
	size_t all = level_chunks(atomic_load_relaxed(&state.levels)) -
		     LEVEL0_CHUNKS;
	int result = 0;

	for (size_t i = 0; i < all && result == 0; i++)
		for (unsigned slot = 0; slot < SLOTS && result == 0; slot++) {
			uint64_t key =
				atomic_load_relaxed(&chunks[i].keys[slot]);

			if (key != 0)
				result = visit(context, key & ~COUNT_MASK,
					       &chunks[i].blocks[slot]);
		}
	return result;
}
