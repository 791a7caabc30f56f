/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.c - a multilevel hash table and its filter; see live.h.
 *
 *	level 0	[chunk][chunk]...		256 chunks of 8 slots
 *	level 1	[chunk][chunk][chunk][chunk]...	512 chunks, and so on, doubling
 *
 *	chunk	8 keys (one cache line), 8 places (three)
 *	key	address; 0: free
 *
 * A block goes into the first level whose chunk (one for each level, by a
 * hash) has a free slot, and never moves. There is no probing beyond a chunk,
 * so nothing like a tombstone is needed and removal leaves no trace. When no
 * open level has room, the next one is opened. The load is near 1 in all but
 * the last two (multilevel hashing: Broder and Karlin, SODA 1990). Chunk n of
 * level l is number 256 * 2^l + n; parts of 1,024 chunks get memory when used.
 *
 * How a larger filter takes over (docs/decisions/0015-filter-growth.md). Each
 * place says in which filters its block is counted. While there is a filter
 * newer than the one that frees read, a block is counted in both: new ones by
 * their inserter, the others by walk_some(), which each insertion calls.
 * When the walk has been everywhere, frees read the newer one. No block is
 * missed, because inserter and walk each write first and look second, with a
 * full fence between:
 *
 *	inserter: place says "counted in 0"; fence; is there a filter 1?
 *	walk:     there is a filter 1; fence; what do the places say?
 *
 * so at least one of the two sees the other and counts the block; both may,
 * and then the compare-and-swap of the place's word decides whose count stays.
 * A free that still reads filter 0 misses none either: an inserter leaves out
 * filter 0 only when it has itself read filter 1 in the word that frees read,
 * and the free, which comes after the insertion, reads no older value of it.
 */
#include "live.h"

#include <errno.h>
#include <string.h>

#include "atomics.h"
#include "counters.h"

#define SLOTS 8
#define LEVEL0_CHUNKS 256
#define LEVELS_MAX 24
#define PART_BITS 10
#define PART_CHUNKS (1U << PART_BITS)
/* How many chunks an insertion walks while a filter is taking over. */
#define WALK_CHUNKS 16

/*
 * A block beside its key. `counted` is atomic: a bit for each filter that it
 * is counted in, 0 for one that is not complete or not there; above them a
 * number that each removal changes, so that a compare-and-swap that was meant
 * for one block fails on the next. The rest belongs to whoever put the key,
 * until it takes it out.
 */
struct place {
	uint64_t size_bytes;
	uint64_t weight;
	region_offset bucket;
	uint32_t counted;
};
#define COUNTED_IN(generation) (UINT32_C(1) << (generation))
#define COUNTED_ALL (COUNTED_IN(LIVE_FILTERS) - 1)
#define COUNTED_TURN COUNTED_IN(LIVE_FILTERS)

struct chunk {
	CACHE_ALIGNED
	uint64_t keys[SLOTS]; /* each atomic */
	struct place places[SLOTS];
};
_Static_assert(sizeof(struct chunk) == 4 * CACHE_LINE, "four lines");

/* One of a chunk's slots; without a chunk: none. */
struct slot {
	struct chunk *chunk;
	unsigned index;
};

/* Immutable after live_init(). */
static region_offset *parts; /* each atomic, set once; 0: not there yet */
static unsigned level_limit; /* how many may be opened */
static uint64_t region_bytes;

/* Atomic: how many levels are open; only grows. On a line of its own. */
static CACHE_ALIGNED uint32_t open_levels;

/* For each filter that takes over, how far the walk is. */
static struct {
	CACHE_ALIGNED
	/* Atomic: the next chunk to walk; chunks that have been walked. */
	uint32_t next;
	uint32_t done;
	/* Atomic, set once: where the walk ends; 0: there is none. */
	uint32_t end;
} walks[LIVE_FILTERS];

/*
 * Filter n takes over when so many levels are open, which is at about 10,000
 * and 95,000 blocks, when one counter in 25 of the filter before is set.
 */
static const uint8_t levels_of_filter[LIVE_FILTERS] = { 1, 4, 7 };
/* The share of the region's size that a filter may have. */
#define FILTER_SHARE 4

static uint32_t
level_chunks(unsigned level)
{
	return (uint32_t)LEVEL0_CHUNKS << level;
}

int
live_init(void)
{
	uint64_t half, total = 0;

	region_bytes = region_header()->size_bytes;
	half = region_bytes / 2;
	while (level_limit < LEVELS_MAX &&
	       (total + level_chunks(level_limit)) * sizeof(struct chunk) <=
		       half)
		total += level_chunks(level_limit++);
	if (level_limit == 0)
		return -ENOMEM;
	parts = region_table("live_parts", sizeof(*parts),
			     level_chunks(level_limit) / PART_CHUNKS + 1,
			     CACHE_LINE);
	if (parts == NULL)
		return -ENOMEM;
	open_levels = 1;
	live_filter_init();
	return 0;
}

/* The part, which may have to be made; NULL if there is no memory. */
static COLD struct chunk *
make_part(region_offset *part)
{
	struct chunk *chunks =
		region_alloc(PART_CHUNKS * sizeof(*chunks), CACHE_LINE);
	region_offset none = 0;

	if (chunks == NULL)
		return NULL;
	/*
	 * Release pairs with part_of(): its segment is there. What another
	 * thread made at the same time is used, and ours is lost: rare.
	 */
	if (!atomic_cas_acq_rel(part, &none, region_offset_of(chunks)))
		return region_at(none);
	return chunks;
}

static struct chunk *
part_of(uint32_t number, bool make)
{
	region_offset *part = &parts[number >> PART_BITS];
	region_offset at = atomic_load_acquire(part);

	if (likely(at != 0))
		return region_at(at);
	return make ? make_part(part) : NULL;
}

/* murmur3's finaliser: every bit of the result depends on every one of z. */
static uint64_t
mix(uint64_t z)
{
	z = (z ^ z >> 33) * UINT64_C(0xff51afd7ed558ccd);
	z = (z ^ z >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return z ^ z >> 33;
}

/*
 * Each level reads other bits of the hash first, so that they fill alike.
 * NULL if its memory is not there and not to be made, or cannot be.
 */
static struct chunk *
chunk_at(uint64_t hash, unsigned level, bool make)
{
	unsigned turn = level * 7 % 64;
	uint64_t turned = turn == 0 ? hash : hash << turn | hash >> (64 - turn);
	uint32_t chunks = level_chunks(level);
	uint32_t number = chunks + ((uint32_t)turned & (chunks - 1));
	struct chunk *part = part_of(number, make);

	return part == NULL ? NULL : &part[number & (PART_CHUNKS - 1)];
}

/* Counts the block in the filters of a mask. */
static void
count_in(uint32_t filters, uintptr_t address)
{
	for (; filters != 0; filters &= filters - 1)
		live_filter_add((unsigned)__builtin_ctz(filters), address);
}

static void
uncount_in(uint32_t filters, uintptr_t address)
{
	for (; filters != 0; filters &= filters - 1)
		live_filter_subtract((unsigned)__builtin_ctz(filters), address);
}

/* Counts the block of a slot, if one is there, in one more filter. */
static void
count_slot(struct slot slot, unsigned generation)
{
	uint32_t *word = &slot.chunk->places[slot.index].counted;
	/*
	 * Acquire pairs with the release in live_insert(): the key read below
	 * is that of this word, or of a later one, and then the swap fails.
	 */
	uint32_t counted = atomic_load_acquire(word);

	while ((counted & COUNTED_ALL) != 0 &&
	       (counted & COUNTED_IN(generation)) == 0) {
		uintptr_t address =
			atomic_load_relaxed(&slot.chunk->keys[slot.index]);

		/* Counted first: too much for a moment, never too little. */
		live_filter_add(generation, address);
		if (atomic_cas_acq_rel(word, &counted,
				       counted | COUNTED_IN(generation)))
			return;
		live_filter_subtract(generation, address);
	}
}

static void
walk_chunk(uint32_t number, unsigned generation)
{
	struct chunk *part = part_of(number, false);

	if (part == NULL)
		return;
	for (unsigned i = 0; i < SLOTS; i++)
		count_slot((struct slot){ &part[number & (PART_CHUNKS - 1)],
					  i },
			   generation);
}

/* If a filter is to take over, its part of the work of bringing that about. */
static COLD void
walk_some(unsigned generation)
{
	/* Acquire pairs with begin_filter(): `end` is set after the filter. */
	uint32_t end = atomic_load_acquire(&walks[generation].end), from, to;

	if (end == 0 || atomic_load_relaxed(&walks[generation].next) >= end)
		return;
	/* Relaxed: whose part of the work it is, and no more. */
	from = atomic_add_relaxed(&walks[generation].next, WALK_CHUNKS);
	if (from >= end)
		return;
	to = MIN(from + WALK_CHUNKS, end);
	/* Between "there is a filter" and "what do the places say", above. */
	atomic_fence_seq_cst();
	for (uint32_t number = from; number < to; number++)
		walk_chunk(number, generation);
	/*
	 * Acquire-release: the last one has all the others' counts before it
	 * and publishes them with the filter.
	 */
	if (atomic_add_acq_rel(&walks[generation].done, to - from) +
		    (to - from) ==
	    end)
		live_filter_use(generation);
}

/* The next filter, if it is time for it with so many levels open. */
static COLD void
begin_filter(uint32_t levels)
{
	unsigned next = live_filter_newest() + 1;

	if (next == LIVE_FILTERS || levels < levels_of_filter[next] ||
	    live_filter_bytes(next) > region_bytes / FILTER_SHARE ||
	    !live_filter_make(next))
		return;
	/*
	 * The fence of the walk, once more: a level that is not open yet has
	 * blocks only of inserters that see the filter.
	 */
	atomic_fence_seq_cst();
	/* Release pairs with walk_some(). */
	atomic_store_release(&walks[next].end,
			     level_chunks(atomic_load_relaxed(&open_levels)));
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
	if (atomic_cas_relaxed(&open_levels, &expected, levels + 1))
		begin_filter(levels + 1);
	return true;
}

/* Puts the key into a slot of the chunk: false if all are taken. */
static bool
claim_slot(struct slot *slot, uint64_t key)
{
	for (slot->index = 0; slot->index < SLOTS; slot->index++) {
		uint64_t *at = &slot->chunk->keys[slot->index], free = 0;

		if (atomic_load_relaxed(at) != 0)
			continue;
		/*
		 * Acquire: pairs with the release that took the last key out,
		 * so that its remover has read the block before we write it.
		 */
		if (atomic_cas_acquire(at, &free, key))
			return true;
	}
	return false;
}

static struct slot
claim(uint64_t address)
{
	uint64_t hash = mix(address);
	struct slot slot;
	unsigned level = 0;

	for (;;) {
		uint32_t levels = atomic_load_relaxed(&open_levels);

		for (; level < levels; level++) {
			slot.chunk = chunk_at(hash, level, true);
			if (slot.chunk != NULL && claim_slot(&slot, address))
				return slot;
		}
		if (!open_level(levels))
			return (struct slot){ NULL, 0 };
	}
}

/* The filters that a new block has to be in, as far as is known now. */
static uint32_t
filters_now(void)
{
	/*
	 * The current one first: it is never later than the newest. Relaxed,
	 * as said at the top: what matters is that a free reads no older one.
	 */
	unsigned current = live_filter_current();
	unsigned newest = live_filter_newest();

	return (COUNTED_IN(newest) * 2 - 1) & ~(COUNTED_IN(current) - 1);
}

/* While a filter takes over: the block into it, and a part of the walk. */
static COLD void
help_filters(struct slot slot, uint32_t filters)
{
	for (unsigned i = 0; i <= live_filter_newest(); i++)
		if (filters < COUNTED_IN(i))
			count_slot(slot, i);
	walk_some(live_filter_newest());
}

bool
live_insert(const void *p, const struct live_block *block)
{
	uintptr_t address = (uintptr_t)p;
	uint32_t filters = filters_now();
	struct slot slot;
	struct place *place;

	/* First the filter, so that it never lacks a block of the table. */
	count_in(filters, address);
	slot = claim(address);
	if (slot.chunk == NULL) {
		uncount_in(filters, address);
		counter_add(COUNTER_samples_dropped_live_full);
		return false;
	}
	place = &slot.chunk->places[slot.index];
	place->size_bytes = block->size_bytes;
	place->weight = block->weight;
	place->bucket = block->bucket;
	/* Release pairs with count_slot(): the key before the word. */
	atomic_store_release(&place->counted,
			     atomic_load_relaxed(&place->counted) | filters);
	/* Between "counted in" and "is there another filter", as said above. */
	atomic_fence_seq_cst();
	if (unlikely(live_filter_newest() != live_filter_current() ||
		     filters < COUNTED_IN(live_filter_newest())))
		help_filters(slot, filters);
	return true;
}

/* Takes the address out of the chunk, if it is there. */
static bool
remove_from(struct chunk *chunk, uintptr_t address, struct live_block *block)
{
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		struct place *place = &chunk->places[slot];
		uint32_t counted;

		/* Relaxed: the program orders this after the insertion. */
		if (atomic_load_relaxed(&chunk->keys[slot]) != address)
			continue;
		block->size_bytes = place->size_bytes;
		block->weight = place->weight;
		block->bucket = place->bucket;
		/*
		 * Acquire-release pairs with count_slot(): a filter that it is
		 * counted in by then is one that it is taken out of here. Of
		 * two threads that free it at a time, as a program in error
		 * may, one finds no bit left.
		 */
		counted = atomic_load_relaxed(&place->counted);
		do
			if ((counted & COUNTED_ALL) == 0)
				return false;
		while (!atomic_cas_acq_rel(&place->counted, &counted,
					   (counted & ~COUNTED_ALL) +
						   COUNTED_TURN));
		/*
		 * Release: the block was read before the slot is free, for
		 * claim_slot().
		 */
		atomic_store_release(&chunk->keys[slot], 0);
		uncount_in(counted & COUNTED_ALL, address);
		return true;
	}
	return false;
}

bool
live_remove(const void *p, struct live_block *block)
{
	uintptr_t address = (uintptr_t)p;
	uint32_t levels;
	uint64_t hash;

	/* A free slot's key is 0, too. */
	if (address == 0 || !live_filter_holds(address))
		return false;
	levels = atomic_load_relaxed(&open_levels);
	hash = mix(address);
	for (unsigned level = 0; level < levels; level++) {
		struct chunk *chunk = chunk_at(hash, level, false);

		if (chunk != NULL && remove_from(chunk, address, block))
			return true;
	}
	return false;
}

static int
visit_chunk(const struct chunk *chunk,
	    int (*visit)(void *context, uintptr_t address,
			 const struct live_block *block),
	    void *context)
{
	int result = 0;

	for (unsigned slot = 0; slot < SLOTS && result == 0; slot++) {
		uint64_t key = atomic_load_relaxed(&chunk->keys[slot]);
		const struct place *place = &chunk->places[slot];
		const struct live_block block = { place->size_bytes,
						  place->weight,
						  place->bucket };

		if (key != 0)
			result = visit(context, key, &block);
	}
	return result;
}

int
live_each(int (*visit)(void *context, uintptr_t address,
		       const struct live_block *block),
	  void *context)
{
	uint32_t end = level_chunks(atomic_load_relaxed(&open_levels));
	int result = 0;

	for (uint32_t i = LEVEL0_CHUNKS; i < end && result == 0; i++) {
		const struct chunk *part = part_of(i, false);

		if (part != NULL)
			result = visit_chunk(&part[i & (PART_CHUNKS - 1)],
					     visit, context);
	}
	return result;
}
