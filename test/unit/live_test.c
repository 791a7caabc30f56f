/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_test.c - the live table against a plain array of what must be in it.
 *
 * LINK: live live_filter region counters sys
 */
#include "live.h"

#include <stdlib.h>

#include "check.h"
#include "counters.h"

#define ADDRESSES 200000

static unsigned char present[ADDRESSES];

/* Addresses as allocators give them: dense, multiples of 16. */
static void *
address_of(unsigned i)
{
	return (void *)(UINT64_C(0x7f1234500000) + (uint64_t)i * 48);
}

static struct live_block
block_of(unsigned i)
{
	return (struct live_block){ .size_bytes = i * 3UL,
				    .weight = 2 * i + 1,
				    .bucket = i ^ 0x5555 };
}

static uint64_t
random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005U + 1442695040888963407U;
	return *state >> 33;
}

static int
fresh_region(void **state)
{
	(void)state;
	if (region_segments == NULL &&
	    (region_init((size_t)64 << 20, 1) != 0 || live_init() != 0))
		return -1;
	return 0;
}

static void
insert(unsigned i)
{
	struct live_block block = block_of(i);

	assert_true(live_insert(address_of(i), &block));
	assert_true(live_maybe(address_of(i)));
	present[i] = 1;
}

static void
take(unsigned i)
{
	struct live_block got, want = block_of(i);

	assert_true(live_maybe(address_of(i)));
	assert_true(live_remove(address_of(i), &got));
	assert_int_equal(got.size_bytes, want.size_bytes);
	assert_true(got.weight == want.weight);
	assert_int_equal(got.bucket, want.bucket);
	present[i] = 0;
}

static int
visit(void *context, uintptr_t address, const struct live_block *block)
{
	unsigned *count = context;
	uint64_t i = (address - (uintptr_t)address_of(0)) / 48;

	assert_true(i < ADDRESSES && present[i]);
	assert_int_equal(block->size_bytes, i * 3);
	++*count;
	return 0;
}

static unsigned
count_live(void)
{
	unsigned count = 0;

	assert_int_equal(live_each(visit, &count), 0);
	return count;
}

static void
one_block(void **state)
{
	struct live_block block;

	(void)state;
	assert_false(live_maybe(address_of(7)));
	insert(7);
	assert_int_equal(count_live(), 1);
	take(7);
	assert_false(live_maybe(address_of(7)));
	assert_false(live_remove(address_of(7), &block));
	assert_false(live_remove(NULL, &block));
	assert_int_equal(count_live(), 0);
}

/* Up through many levels and down again. */
static void
grows_and_empties(void **state)
{
	unsigned maybe = 0;

	(void)state;
	for (unsigned i = 0; i < ADDRESSES; i++)
		insert(i);
	assert_int_equal(count_live(), ADDRESSES);
	for (unsigned i = 0; i < ADDRESSES; i++)
		take((unsigned)((uint64_t)i * 7919 % ADDRESSES));
	assert_int_equal(count_live(), 0);
	for (unsigned i = 0; i < ADDRESSES; i++)
		maybe += live_maybe(address_of(i));
	assert_int_equal(maybe, 0);
}

/* A steady number of blocks for long: never refused, exact at the end. */
static void
churn_leaves_no_trace(void **state)
{
	uint64_t random = 1;
	size_t used;

	(void)state;
	for (unsigned i = 0; i < 1500; i++)
		insert(i);
	used = region_used_bytes();
	for (unsigned n = 0; n < 10000000; n++) {
		unsigned i = (unsigned)(random_next(&random) % 3000);

		if (present[i])
			take(i);
		else
			insert(i);
	}
	for (unsigned i = 0; i < 3000; i++)
		if (present[i])
			take(i);
	assert_int_equal(count_live(), 0);
	assert_int_equal(region_used_bytes(), used);
	assert_int_equal(counter_value(COUNTER_samples_dropped_live_full), 0);
}

/* How often an address that is not there must be looked up, at 1000 live. */
static void
filter_is_selective(void **state)
{
	unsigned maybe = 0;

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		insert(i * 11);
	for (unsigned i = 0; i < ADDRESSES; i++)
		maybe += !present[i] && live_maybe(address_of(i));
	assert_true(maybe < ADDRESSES / 10);
	for (unsigned i = 0; i < 1000; i++)
		take(i * 11);
}

/* Blocks as far apart as in a heap of hundreds of GiB. */
static void *
far_address(unsigned i)
{
	uint64_t random = i;

	(void)random_next(&random);
	return (void *)(UINT64_C(0x7e0000000000) +
			((uint64_t)random_next(&random) << 7 | i % 2 << 4));
}

/* How many of a million addresses without a block must be looked up. */
static unsigned
looked_up(unsigned (*holds)(unsigned i))
{
	unsigned count = 0;

	for (unsigned i = 0; i < 1000000; i++)
		count += holds(i + 100000000);
	return count;
}

static unsigned
maybe(unsigned i)
{
	return live_maybe(far_address(i));
}

static unsigned
holds(unsigned i)
{
	return live_maybe(far_address(i)) &&
	       live_filter_holds((uintptr_t)far_address(i));
}

/*
 * With 300,000 blocks, which would set two thirds of the first filter's
 * counters, 1.8 % of the last one's are set, and hardly any other address has
 * a fingerprint of theirs. That each block is found says that none was lost
 * while one filter took over from another, and that all is zero at the end
 * that none was counted twice.
 */
static void
filter_grows(void **state)
{
	enum { BLOCKS = 300000 };
	struct live_block block = { .size_bytes = 1 };

	(void)state;
	assert_int_equal(live_filter_current(), 0);
	for (unsigned i = 0; i < BLOCKS; i++) {
		block.size_bytes = i;
		assert_true(live_insert(far_address(i), &block));
		if (i % 3 == 0)
			assert_true(live_remove(far_address(i), &block));
	}
	assert_int_equal(live_filter_current(), LIVE_FILTERS - 1);
	assert_in_range(looked_up(maybe), 0, 30000);
	assert_in_range(looked_up(holds), 0, 1000);
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (i % 3 == 0)
			continue;
		assert_true(live_maybe(far_address(i)));
		assert_true(live_remove(far_address(i), &block));
		assert_int_equal(block.size_bytes, i);
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		assert_false(live_maybe(far_address(i)));
}

static void
full_table_drops_and_counts(void **state)
{
	struct live_block block = { .size_bytes = 1 };
	uint64_t before = counter_value(COUNTER_samples_dropped_live_full);
	uintptr_t address = 0x10000000;
	unsigned held = 0, refused = 0;
	unsigned char *in;

	(void)state;
	in = calloc(3000000, 1);
	for (unsigned i = 0; i < 3000000; i++) {
		in[i] = live_insert((void *)(address + i * 16UL), &block);
		held += in[i];
		refused += !in[i];
	}
	assert_true(refused > 0);
	/* 32 MiB of 32 bytes; all but the last level is full. */
	assert_true(held > 800000);
	assert_int_equal(counter_value(COUNTER_samples_dropped_live_full) -
				 before,
			 refused);
	for (unsigned i = 0; i < 3000000; i++)
		assert_int_equal(live_remove((void *)(address + i * 16UL),
					     &block),
				 in[i]);
	assert_int_equal(count_live(), 0);
	free(in);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_block),
		cmocka_unit_test(filter_is_selective),
		cmocka_unit_test(churn_leaves_no_trace),
		cmocka_unit_test(filter_grows),
		cmocka_unit_test(grows_and_empties),
		cmocka_unit_test(full_table_drops_and_counts),
	};

	if (fresh_region(NULL) != 0)
		return 1;
	return CHECK_RUN(tests);
}
