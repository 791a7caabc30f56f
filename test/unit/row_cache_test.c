/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_cache_test.c - how many places of a program the cache of rows holds.
 *
 * LINK: row_cache region counters sys
 */
#include "row_cache.h"

#include <stdlib.h>

#include "check.h"
#include "region.h"

/* As call sites lie: some bytes apart. */
static uint64_t
pc_of(unsigned i)
{
	return UINT64_C(0x555555554000) + i * 16UL;
}

/* Looks all up, as often as said, in an order that changes. */
static unsigned
misses(unsigned count, unsigned rounds)
{
	unsigned missed = 0;

	for (unsigned round = 0; round < rounds; round++)
		for (unsigned n = 0; n < count; n++) {
			unsigned i = n * 7919 % count;
			uint64_t pc = pc_of(i), row, frame;

			if (row_cache_get(row_cache_now(), pc, 0, &row,
					  &frame)) {
				assert_int_equal(row, i);
				assert_int_equal(frame, i + 1);
				continue;
			}
			missed++;
			row_cache_put(pc, 0, i, i + 1);
		}
	return missed;
}

static void
few_places_take_little(void **state)
{
	size_t used = region_used_bytes();

	(void)state;
	assert_in_range(misses(1000, 10), 1000, 1200);
	assert_int_equal(misses(1000, 10), 0);
	/* The larger table is not made for them. */
	assert_int_equal(region_used_bytes(), used);
}

static void
twelve_thousand_places_are_held(void **state)
{
	(void)state;
	(void)misses(12000, 10);
	/* One in a hundred may still push each other out. */
	assert_in_range(misses(12000, 1), 0, 120);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_places_take_little),
		cmocka_unit_test(twelve_thousand_places_are_held),
	};

	if (region_init((size_t)64 << 20, 1) != 0 || row_cache_init() != 0)
		return 1;
	return CHECK_RUN(tests);
}
