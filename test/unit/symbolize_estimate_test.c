/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize_estimate_test.c - the standard error is the error there is. */
/* SYMBOLIZE: estimate profile profile_check profile_file legacy_text */
/* SYMBOLIZE: legacy_place table target memory utf8 reason proto */
/* SYMBOLIZE: legacy_thread */
/* LIBS: -lprotobuf-c -lz -lm */
#include "estimate.h"

#include <math.h>
#include <stdlib.h>

#include "check.h"

#define RATE 524288.0
#define TRIALS 1000

struct mix {
	double size;
	double blocks;
};

/*
 * Live sets of programs: from thousands of small blocks to a few large ones.
 * Each has a hundred samples or so: with a handful, the interval of a normal
 * distribution is no 95 % interval of a Poisson one.
 */
static const struct mix mixes[][3] = {
	{ { 64, 1e6 }, { 0, 0 }, { 0, 0 } },
	{ { 1024, 60000 }, { 0, 0 }, { 0, 0 } },
	{ { 262144, 300 }, { 0, 0 }, { 0, 0 } },
	{ { 16, 1e6 }, { 4096, 10000 }, { 1048576, 40 } },
};

static double
uniform(void)
{
	return ((double)random() + 0.5) / ((double)RAND_MAX + 1);
}

/* How many of so many blocks are taken, each with p; by gaps between them. */
static double
draw(double blocks, double p)
{
	double taken = 0;
	for (double at = floor(log(uniform()) / log1p(-p)); at < blocks;
	     at += 1 + floor(log(uniform()) / log1p(-p)))
		taken++;
	return taken;
}

struct outcome {
	double value, variance;
};

/* One profile: what it says of the bytes held, as the profile's reader does */
static struct outcome
sample(const struct mix mix[3])
{
	struct outcome outcome = { 0, 0 };
	for (int i = 0; i < 3 && mix[i].blocks > 0; i++) {
		double p = -expm1(-mix[i].size / RATE);
		double estimated = draw(mix[i].blocks, p) / p;
		outcome.value += estimated * mix[i].size;
		outcome.variance +=
			mix[i].size * mix[i].size *
			estimate_block_variance(estimated, mix[i].size, RATE);
	}
	return outcome;
}

/*
 * The truth lies within 1.96 standard errors in 95 % of the profiles. Of 1000
 * trials at 95 %, 950 hit, with a standard deviation of 6.9: five of them
 * either way are wrong once in two million.
 */
static void
test_95_percent_of_truths_in_the_interval(void **state)
{
	(void)state;
	srandom(20240229);
	for (size_t i = 0; i < sizeof(mixes) / sizeof(*mixes); i++) {
		double truth = 0, bias = 0, mean_variance = 0;
		int hits = 0;
		for (int j = 0; j < 3; j++)
			truth += mixes[i][j].size * mixes[i][j].blocks;
		for (int j = 0; j < TRIALS; j++) {
			struct outcome got = sample(mixes[i]);
			bias += (got.value - truth) / TRIALS;
			mean_variance += got.variance / TRIALS;
			hits += fabs(got.value - truth) <=
				1.96 * sqrt(got.variance);
		}
		if (hits < 950 - 35 || hits > 950 + 35)
			fail_msg("mix %zu: %d of %d", i, hits, TRIALS);
		/* Unbiased: within five standard errors of the mean. */
		assert_true(fabs(bias) < 5 * sqrt(mean_variance / TRIALS));
	}
}

/* The variance that is estimated is the variance that the estimates have. */
static void
test_variance_is_the_true_one(void **state)
{
	const struct mix *mix = mixes[3];
	double sum = 0, squares = 0, estimated = 0;
	(void)state;
	srandom(7);
	for (int i = 0; i < 4 * TRIALS; i++) {
		struct outcome got = sample(mix);
		sum += got.value;
		squares += got.value * got.value;
		estimated += got.variance / (4 * TRIALS);
	}
	double mean = sum / (4 * TRIALS);
	double variance = squares / (4 * TRIALS) - mean * mean;
	/* The variance of 4000 normal draws is known to 2.2 %: five times. */
	assert_true(fabs(variance / estimated - 1) < 0.12);
}

static void
test_closed_form(void **state)
{
	double p = -expm1(-4096 / RATE);
	double expected = 100 * (1 - p) / p;
	(void)state;
	assert_true(fabs(estimate_block_variance(100, 4096, RATE) / expected -
			 1) < 1e-12);
	/* Every block taken, or blocks that cannot be missed: no error. */
	assert_true(estimate_block_variance(100, 4096, 1) == 0);
	assert_true(estimate_block_variance(100, 1e9, RATE) < 1e-6);
	assert_true(estimate_block_variance(0, 64, RATE) == 0);
}

/*
 * sample_types a/count, b/bytes, period 8 of space/bytes, one sample (4, 32)
 * with label bytes=8; strings "", inuse_objects, count, inuse_space, bytes,
 * space.
 */
static const uint8_t heap[] = "\x0a\x04\x08\x01\x10\x02"
			      "\x0a\x04\x08\x03\x10\x04"
			      "\x12\x0a\x12\x02\x04\x20\x1a\x04\x08\x04\x18\x08"
			      "\x5a\x04\x08\x05\x10\x04"
			      "\x60\x08"
			      "\x32\x00\x32\x0dinuse_objects\x32\x05"
			      "count\x32\x0binuse_space\x32\x05"
			      "bytes\x32\x05space";

static void
test_reads_size_and_rate_from_the_profile(void **state)
{
	struct profile *profile;
	struct reason reason;
	double each = 1 / expm1(1); /* S = R */
	(void)state;
	assert_int_equal(profile_parse("test", heap, sizeof(heap) - 1, &profile,
				       &reason),
			 0);
	const struct pb_sample *only = profile->pb->sample[0];
	assert_true(estimate_is_one(profile, 0) && estimate_is_one(profile, 1));
	assert_true(fabs(estimate_sample_variance(profile, only, 0) -
			 4 * each) < 1e-9);
	assert_true(fabs(estimate_sample_variance(profile, only, 1) -
			 64 * 4 * each) < 1e-9);
	/* Without the label: the quotient of the two values, 8 again. */
	profile->pb->sample[0]->n_label = 0;
	assert_true(fabs(estimate_sample_variance(profile, only, 0) -
			 4 * each) < 1e-9);
	profile->pb->sample[0]->n_label = 1;
	profile->pb->period = 1;
	assert_false(estimate_is_one(profile, 1));
	assert_true(estimate_sample_variance(profile, only, 1) == 0);
	profile_free(profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_95_percent_of_truths_in_the_interval),
		cmocka_unit_test(test_variance_is_the_true_one),
		cmocka_unit_test(test_closed_form),
		cmocka_unit_test(test_reads_size_and_rate_from_the_profile),
	};
	return CHECK_RUN(tests);
}
