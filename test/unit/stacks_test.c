/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks_test.c - stacks and size classes are told apart and found again.
 *
 * LINK: stacks region counters sys
 */
#include "stacks.h"

#include "check.h"
#include "counters.h"

static void
size_classes_are_narrow(void **state)
{
	unsigned last = stacks_size_class(0);

	(void)state;
	for (uint64_t size = 1, first = 1; size < 2000000; size++) {
		unsigned class = stacks_size_class(size);

		assert_true(class == last || class > last);
		if (class != last)
			first = size;
		assert_true((double)size / (double)first <= 1.25);
		last = class;
	}
	assert_true(stacks_size_class(UINT64_MAX) < 256);
	assert_true(stacks_size_class(UINT64_MAX) >
		    stacks_size_class(UINT64_MAX / 2));
}

static void
equal_stacks_share_a_bucket(void **state)
{
	uint64_t frames[3] = { 1, 2, 3 }, other[3] = { 1, 2, 4 };
	region_offset at = stacks_bucket(frames, 3, 10);
	struct bucket *bucket = region_at(at);

	(void)state;
	assert_int_not_equal(at, 0);
	assert_int_equal(stacks_bucket(frames, 3, 10), at);
	/* 10 and 11 are of one class, 12 is not: the first size stays. */
	assert_int_equal(stacks_bucket(frames, 3, 11), at);
	assert_int_equal(bucket->first_bytes, 10);
	assert_int_not_equal(stacks_bucket(frames, 3, 12), at);
	assert_int_not_equal(stacks_bucket(frames, 2, 10), at);
	assert_int_not_equal(stacks_bucket(other, 3, 10), at);
	assert_int_equal(stacks_bucket(frames, 3, 10), at);
	assert_int_equal(stacks_bucket_count(), 4);
}

static int
count(void *context, const struct stack *stack, const struct bucket *bucket)
{
	unsigned *n = context;

	assert_ptr_equal(region_at(bucket->stack), stack);
	if (stack->frame_count == 2 && stack->frames[0] >= 1000000)
		++*n;
	return 0;
}

static int
stop(void *context, const struct stack *stack, const struct bucket *bucket)
{
	(void)context, (void)stack, (void)bucket;
	return -7;
}

static void
many_stacks_are_all_visited(void **state)
{
	const unsigned n = 50000;
	unsigned seen = 0;

	(void)state;
	for (unsigned i = 0; i < n; i++) {
		uint64_t frames[2] = { 1000000 + i, i };

		assert_int_not_equal(stacks_bucket(frames, 2, i % 3), 0);
		assert_int_not_equal(stacks_bucket(frames, 2, 3 + i % 3), 0);
	}
	assert_int_equal(stacks_each(count, &seen), 0);
	assert_int_equal(seen, 2 * n);
	assert_int_equal(stacks_each(stop, NULL), -7);
}

static void
full_region_drops_and_counts(void **state)
{
	uint64_t dropped = 0;

	(void)state;
	for (uint64_t i = 0; i < 400000; i++) {
		uint64_t frames[4] = { i, i, i, i + 1 };

		dropped += stacks_bucket(frames, 4, 1) == 0;
	}
	assert_true(dropped > 0);
	assert_int_equal(counter_value(COUNTER_samples_dropped_region_full),
			 dropped);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(size_classes_are_narrow),
		cmocka_unit_test(equal_stacks_share_a_bucket),
		cmocka_unit_test(many_stacks_are_all_visited),
		cmocka_unit_test(full_region_drops_and_counts),
	};

	if (region_init((size_t)48 << 20, 1) != 0 || stacks_init() != 0)
		return 1;
	return CHECK_RUN(tests);
}
