/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_filter.c - the counters; see live_filter.h.
 *
 * A counter's values, so that a look at the one byte tells most addresses that
 * share it from the block that it counts:
 *
 *	0		no block
 *	1 .. 192	one, and this is its fingerprint
 *	193 .. 254	1 to 62 blocks, or the same again after they were more
 *	255		more, for ever: a look-up in vain at worst
 *
 * The first filter has its place in the library, the others are mapped when
 * they are needed. None is in the region: they can be made again from it.
 */
#include "live_filter.h"

#include "sys.h"

#define GRANULE_BITS ARCH_FILTER_GRANULE_BITS
#define FINGERPRINTS 192
#define STUCK 255

_Static_assert(sizeof(struct live_filter_head) == CACHE_LINE,
	       "counters start a line");
_Static_assert(sizeof(struct live_filter_head) -
			       offsetof(struct live_filter_head, mask) ==
		       ARCH_FILTER_MASK_BEFORE,
	       "where the hooks look for it");

static struct {
	struct live_filter_head head;
	uint8_t counters[1 << LIVE_FILTER_BITS_FIRST];
} first;

/* What frees read before there is any block. */
static struct {
	struct live_filter_head head;
	uint8_t counters[CACHE_LINE];
} none;

CACHE_ALIGNED uint8_t *live_filter = none.counters;

/* Atomic, each set once. */
static uint8_t *filters[LIVE_FILTERS];
uint32_t live_filter_last;

static size_t
counter_count(unsigned generation)
{
	return (size_t)1 << (LIVE_FILTER_BITS_FIRST +
			     LIVE_FILTER_BITS_MORE * generation);
}

size_t
live_filter_bytes(unsigned generation)
{
	return counter_count(generation);
}

static uint8_t *
counter_of(uint8_t *counters, uintptr_t address)
{
	return &counters[address >> GRANULE_BITS &
			 live_filter_head(counters)->mask];
}

/* By all bits of the address, by multiplication (Knuth, TAOCP 3, 6.4). */
static uint8_t
fingerprint(uintptr_t address)
{
	uint64_t top = address * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	return (uint8_t)(1 + (top * FINGERPRINTS >> 32));
}

void
live_filter_init(void)
{
	first.head.mask = (uint32_t)counter_count(0) - 1;
	filters[0] = first.counters;
	/* Release pairs with the address that leads to head and counters. */
	atomic_store_release(&live_filter, first.counters);
}

bool
live_filter_holds(uintptr_t address)
{
	uint8_t *counters = atomic_load_relaxed(&live_filter);
	/* Relaxed, as in live_maybe(). */
	uint8_t value = atomic_load_relaxed(counter_of(counters, address));

	return value > FINGERPRINTS ||
	       (value != 0 && value == fingerprint(address));
}

void
live_filter_add(unsigned generation, uintptr_t address)
{
	/* Relaxed: who knows the generation sees it (live_filter_newest). */
	uint8_t *counters = atomic_load_relaxed(&filters[generation]);
	uint8_t *counter = counter_of(counters, address);
	uint8_t value = atomic_load_relaxed(counter), next;

	/* Relaxed: what orders a counter's readers is said at live_maybe(). */
	do {
		if (value == STUCK)
			return;
		if (value == 0)
			next = fingerprint(address);
		else if (value <= FINGERPRINTS)
			next = FINGERPRINTS + 2;
		else
			next = (uint8_t)(value + 1);
	} while (!atomic_cas_relaxed(counter, &value, next));
}

void
live_filter_subtract(unsigned generation, uintptr_t address)
{
	/* Relaxed throughout, as in live_filter_add(). */
	uint8_t *counters = atomic_load_relaxed(&filters[generation]);
	uint8_t *counter = counter_of(counters, address);
	uint8_t value = atomic_load_relaxed(counter), next;

	do {
		if (value == STUCK)
			return;
		next = value <= FINGERPRINTS + 1 ? 0 : (uint8_t)(value - 1);
	} while (!atomic_cas_relaxed(counter, &value, next));
}

bool
live_filter_make(unsigned generation)
{
	size_t size_bytes =
		sizeof(struct live_filter_head) + counter_count(generation);
	uint8_t *none_yet = NULL, *counters;
	struct live_filter_head *head;

	if (atomic_load_relaxed(&filters[generation]) != NULL)
		return false;
	head = sys_map(size_bytes);
	if (head == NULL)
		return false;
	head->mask = (uint32_t)counter_count(generation) - 1;
	head->generation = generation;
	counters = (uint8_t *)(head + 1);
	/* Release, with the one below: the head before who counts in it. */
	if (!atomic_cas_release(&filters[generation], &none_yet, counters)) {
		sys_unmap(head, size_bytes);
		return false;
	}
	atomic_store_release(&live_filter_last, generation);
	return true;
}

void
live_filter_use(unsigned generation)
{
	uint8_t *counters = atomic_load_relaxed(&filters[generation]);
	uint8_t *current = atomic_load_relaxed(&live_filter);

	/*
	 * Release: all blocks are counted before a free reads it. Whoever
	 * finishes an earlier filter late finds a later one here.
	 */
	while (live_filter_head(current)->generation < generation &&
	       !atomic_cas_release(&live_filter, &current, counters))
		continue;
}
