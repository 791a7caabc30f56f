/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranges.h - address ranges of DWARF entries, and whose they are.
 */
#ifndef HEAPAGENT_RANGES_H
#define HEAPAGENT_RANGES_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

struct range {
	uint64_t low;
	uint64_t high;
	size_t owner; /* index of a unit, a function or an inlined die */
};

struct ranges {
	struct range *items;
	size_t count, capacity;
};

/*
 * Adds the ranges of a die. Those of a range list are relative to base. Each
 * costs one of *budget; at 0 no more are read: several dies of a hostile file
 * may share one endless list.
 */
void ranges_add(struct ranges *ranges, Dwarf_Die *die, size_t owner,
		uint64_t base, size_t *budget);

void ranges_sort(struct ranges *ranges);

/*
 * The range with the nearest start that holds the address, or NULL; of equal
 * ones that of the first owner. Sorted ranges only.
 */
const struct range *ranges_find(const struct ranges *ranges, uint64_t address);

#endif
