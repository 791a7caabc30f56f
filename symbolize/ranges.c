/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranges.c - address ranges of DWARF entries, and whose they are.
 */
#include "ranges.h"

#include <dwarf.h>
#include <stdlib.h>

#include "memory.h"

/* Ranges of one level hardly overlap: so many are looked at in a search. */
#define SEARCH_BACK 16

void
ranges_add(struct ranges *ranges, Dwarf_Die *die, size_t owner, uint64_t base,
	   size_t *budget)
{
	Dwarf_Addr unused, low, high;
	ptrdiff_t offset = 0;
	if (base && !dwarf_hasattr(die, DW_AT_ranges))
		base = 0;
	while (*budget &&
	       (offset = dwarf_ranges(die, offset, &unused, &low, &high)) > 0) {
		--*budget;
		low += base;
		high += base;
		/* The linker put what it discarded at 0 or at the end. */
		if (!low || high <= low)
			continue;
		memory_grow(ranges->items, ranges->count, ranges->capacity);
		ranges->items[ranges->count++] =
			(struct range){ low, high, owner };
	}
}

static int
compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->owner < y->owner ? -1 : x->owner > y->owner;
}

void
ranges_sort(struct ranges *ranges)
{
	if (ranges->count)
		qsort(ranges->items, ranges->count, sizeof(*ranges->items),
		      compare);
}

const struct range *
ranges_find(const struct ranges *ranges, uint64_t address)
{
	const struct range *items = ranges->items;
	size_t low = 0, high = ranges->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (items[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* Ranges of one level do not overlap, except those of discarded
	 * functions (at 0, left out) and of folded ones or aliases (equal):
	 * of these the first counts, as with addr2line. */
	for (size_t back = 0; low && back < SEARCH_BACK; back++, low--)
		if (items[low - 1].high > address)
			break;
	if (!low || items[low - 1].high <= address)
		return NULL;
	while (low > 1 && items[low - 2].low == items[low - 1].low &&
	       items[low - 2].high > address)
		low--;
	return &items[low - 1];
}
