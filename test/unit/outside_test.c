/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outside_test.c - whose handler it is said to be, in every order of two calls.
 *
 * LINK: outside region counters sys
 */
#include "outside.h"

#include "check.h"
#include "region.h"

#define OURS 0x1000
#define THEIRS 0x2000

static const struct outside *
record(void)
{
	const struct region_header *header = region_header();

	return region_at(
		(region_offset)(header->tables[0].offset_bytes / REGION_UNIT));
}

static bool
is_ours(void)
{
	return (record()->handler & OUTSIDE_IS_ANOTHERS) == 0;
}

static void
install(uintptr_t handler)
{
	struct outside_change change = outside_changing(handler);

	outside_changed(&change, true);
}

static void
test_one_after_another(void **state)
{
	(void)state;
	assert_int_equal(record()->handler, 0);
	assert_false(outside_is_noted(12));
	outside_installed(12, OURS);
	outside_has_begun();
	assert_true(outside_is_noted(12));
	assert_false(outside_is_noted(0));
	assert_true(is_ours());
	install(THEIRS);
	assert_false(is_ours());
	install(OURS);
	assert_true(is_ours());
	install(OURS);
	assert_true(is_ours());
	assert_true(record()->handler & OUTSIDE_HAS_BEGUN);
	assert_true(record()->handler & OUTSIDE_IS_IN);
}

static void
test_a_call_that_failed(void **state)
{
	struct outside_change change;

	(void)state;
	change = outside_changing(THEIRS);
	assert_false(is_ours()); /* it may be in already */
	outside_changed(&change, false);
	assert_true(is_ours());
	install(THEIRS);
	change = outside_changing(OURS);
	outside_changed(&change, false);
	assert_false(is_ours());
	install(OURS);
}

/*
 * Two threads, each with a step before and after the kernel's: whoever was the
 * last for the kernel, it is never ours by our word and theirs by the kernel's.
 */
static void
test_two_at_a_time(void **state)
{
	(void)state;
	/* Each bit: who takes the next step; each has three. */
	for (unsigned order = 0; order < 64; order++) {
		struct outside_change change[2];
		uintptr_t kernel = THEIRS;
		unsigned steps[2] = { 0, 0 };
		const uintptr_t handlers[2] = { OURS, THEIRS };

		if (__builtin_popcount(order) != 3)
			continue;
		install(THEIRS);
		for (unsigned i = 0; i < 6; i++) {
			unsigned who = order >> i & 1;

			if (steps[who] == 0)
				change[who] = outside_changing(handlers[who]);
			else if (steps[who] == 1)
				kernel = handlers[who];
			else
				outside_changed(&change[who], true);
			steps[who]++;
		}
		if (kernel == THEIRS)
			assert_false(is_ours());
	}
}

static void
test_left_alone(void **state)
{
	(void)state;
	outside_left_alone();
	assert_int_equal(record()->handler, OUTSIDE_HAS_BEGUN);
	assert_false(outside_is_noted(12));
	outside_dump_failed(-13);
	assert_int_equal(record()->dump_error, -13);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_after_another),
		cmocka_unit_test(test_a_call_that_failed),
		cmocka_unit_test(test_two_at_a_time),
		cmocka_unit_test(test_left_alone),
	};

	if (region_init(REGION_SIZE_MIN, 1) != 0 || outside_init() != 0)
		return 1;
	return CHECK_RUN(tests);
}
