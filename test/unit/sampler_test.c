/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampler_test.c - the weights against libm, the gaps against the exponential
 * distribution, and who gets sampled.
 *
 * LINK: sampler thread sys
 * LIBS: -lm
 */
#include "sampler.h"

#include <math.h>
#include <string.h>

#include "arch/x86_64.h"
#include "check.h"

/* The weight of 1, exactly. */
#define ONE (1 << SAMPLER_WEIGHT_BITS)

static void
weight_equals_libm(void **state)
{
	(void)state;
	for (double r = 2; r < 1e12; r *= 3.7)
		for (double s = 1; s < 1e13; s *= 1.9) {
			uint64_t rate = (uint64_t)r, size = (uint64_t)s;
			double x = (double)size / (double)rate;
			double want = -1 / expm1(-x);
			double got = (double)sampler_weight(size, rate) / ONE;

			/* Two units of a weight, which is 1 or more. */
			assert_true(fabs(got / want - 1) < 2.0 / ONE);
		}
}

static void
weight_edges(void **state)
{
	(void)state;
	assert_true(sampler_weight(100, 1) == ONE);
	assert_true(sampler_weight(100, 0) == ONE);
	assert_true(sampler_weight(0, 524288) == sampler_weight(1, 524288));
	assert_true(sampler_weight(UINT64_MAX, 524288) == ONE);
}

/* The mean, the variance and the median of many gaps. */
static void
gaps_are_exponential(void **state)
{
	const unsigned n = 1000000;
	const uint64_t rate = 524288;
	uint64_t random = 42, below_median = 0;
	double sum = 0, squares = 0;

	(void)state;
	for (unsigned i = 0; i < n; i++) {
		double gap = (double)sampler_gap(&random, rate);

		sum += gap;
		squares += gap * gap;
		below_median += gap < (double)rate * 0.69314718056;
	}
	/* floor() takes half a byte off the mean; four standard errors. */
	assert_true(fabs(sum / n + 0.5 - (double)rate) <
		    4 * (double)rate / sqrt(n));
	/* E[g^2] = 2 R^2, whose standard deviation is sqrt(20) R^2. */
	assert_true(fabs(squares / n / (double)rate / (double)rate - 2) <
		    4 * sqrt(20.0 / n));
	assert_true(fabs((double)below_median - n / 2.0) < 4 * sqrt(n) / 2);
}

/* One allocation as a hook makes it; true if it is sampled. */
static bool
allocate(struct thread *thread, size_t size)
{
	return arch_countdown(&thread->countdown_bytes, size) &&
	       sampler_due(thread, size);
}

static void
every_allocation_at_rate_1(void **state)
{
	struct thread thread = { 0 };

	(void)state;
	sampler_init(1);
	for (size_t size = 0; size < 10000; size++)
		assert_true(allocate(&thread, size));
	assert_true(allocate(&thread, (size_t)1 << 62));
}

static void
none_at_rate_0(void **state)
{
	struct thread thread = { 0 };

	(void)state;
	sampler_init(0);
	for (size_t size = 0; size < 10000; size++)
		assert_false(allocate(&thread, size << 30));
}

/* The sampled share of equal sizes, beside its expectation. */
static void
check_share(uint64_t rate, size_t size, unsigned threads, unsigned each)
{
	double p = ONE / (double)sampler_weight(size, rate),
	       n = (double)threads * each;
	unsigned sampled = 0;

	sampler_init(rate);
	for (unsigned t = 0; t < threads; t++) {
		struct thread thread = { 0 };

		for (unsigned i = 0; i < each; i++)
			sampled += allocate(&thread, size);
	}
	assert_true(fabs(sampled - n * p) < 4.5 * sqrt(n * p * (1 - p)));
}

static void
share_is_the_probability(void **state)
{
	(void)state;
	check_share(524288, 64, 1, 20000000);
	check_share(524288, 4096, 1, 1000000);
	check_share(524288, 524288, 1, 1000000);
	check_share(1000, 0, 1, 1000000);
	check_share(1000, 1, 1, 1000000);
	check_share(3, 2, 1, 1000000);
}

/* The first allocation of a thread is sampled as often as any other. */
static void
first_allocation_of_a_thread(void **state)
{
	(void)state;
	check_share(1000, 100, 1000000, 1);
	check_share(1000, 700, 1000000, 1);
	check_share(100000, 24, 200000, 50);
}

/* Sizes that no allocator serves do not disturb the countdown. */
static void
huge_sizes_borrow(void **state)
{
	struct thread thread = { 0 };
	const size_t sizes[] = { SIZE_MAX, (size_t)1 << 63,
				 ((size_t)1 << 63) + 5, PTRDIFF_MAX };

	(void)state;
	sampler_init(1000);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(allocate(&thread, sizes[i]));
		/* A gap is 44 times the rate at most: exp(-44) is 2^-63. */
		assert_true(thread.countdown_bytes < 44 * 1000);
	}
	thread.countdown_bytes = 1000;
	assert_false(arch_countdown(&thread.countdown_bytes, 1000));
	assert_int_equal(thread.countdown_bytes, 0);
	assert_true(arch_countdown(&thread.countdown_bytes, 0));
}

/* Before the agent has started, nothing is decided for good. */
static void
threads_from_before_the_start(void **state)
{
	struct thread thread = { 0 };

	(void)state;
	/* This test runs first: no sampler_init() yet. */
	assert_false(allocate(&thread, 100));
	sampler_init(1);
	assert_true(allocate(&thread, 100));
}

/* A fork's new seed changes what comes, not whether this one is due. */
static void
reseeding_keeps_the_due_sample(void **state)
{
	struct thread thread = { 0 };
	uint64_t random;

	(void)state;
	sampler_init(1000000);
	while (!allocate(&thread, 1000))
		continue;
	random = thread.random;
	sampler_init(1000000);
	thread.countdown_bytes = 10;
	assert_true(allocate(&thread, 1000));
	assert_true(thread.random != random);
}

/* A child's first allocation; the state that its gap came from. */
static uint64_t
start_of_child(void)
{
	assert_false(thread_self.sampling == 0);
	sampler_in_child();
	/* Whatever was left of the parent's gap does not matter. */
	assert_int_equal(thread_self.countdown_bytes, 0);
	sampler_fork_child(1);
	assert_true(allocate(&thread_self, 100));
	return thread_self.random;
}

/* Forked children sample at points of their own, and theirs, too. */
static void
forked_children_differ(void **state)
{
	uint64_t first, second, third;

	(void)state;
	sampler_init(1);
	assert_true(allocate(&thread_self, 100));
	sampler_before_fork();
	first = start_of_child();
	sampler_before_fork();
	second = start_of_child();
	sampler_before_fork();
	third = start_of_child();
	assert_true(first != second);
	assert_true(second != third);
	assert_true(first != third);
	sampler_fork_child(0);
	assert_int_equal(sampler_rate_bytes, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_from_before_the_start),
		cmocka_unit_test(forked_children_differ),
		cmocka_unit_test(weight_equals_libm),
		cmocka_unit_test(weight_edges),
		cmocka_unit_test(gaps_are_exponential),
		cmocka_unit_test(every_allocation_at_rate_1),
		cmocka_unit_test(none_at_rate_0),
		cmocka_unit_test(share_is_the_probability),
		cmocka_unit_test(first_allocation_of_a_thread),
		cmocka_unit_test(huge_sizes_borrow),
		cmocka_unit_test(reseeding_keeps_the_due_sample),
	};

	return CHECK_RUN(tests);
}
