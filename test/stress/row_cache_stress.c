/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_cache_stress.c - threads that put rows of the same entries and read them
 * at the same time, in generations that change under them: what is found is
 * what was put for that pc in that generation, with ThreadSanitizer watching.
 *
 * LINK: row_cache region counters sys
 * CFLAGS: -Wno-tsan
 */
#include "row_cache.h"

#include <pthread.h>

#include "../unit/check.h"
#include "region.h"

#define THREADS 4
#define ENTRIES 8
#define PCS_OF_ENTRY 4
#define ROUNDS 400000

static uint64_t pcs[ENTRIES][PCS_OF_ENTRY];
static uint64_t generation; /* atomic */

/* The row and frame of a pc in a generation: any numbers that tell. */
static uint64_t
row_of(uint64_t pc, uint64_t in_generation)
{
	return (pc ^ in_generation << 32) * UINT64_C(0xbf58476d1ce4e5b9);
}

static uint64_t
frame_of(uint64_t pc, uint64_t in_generation)
{
	return row_of(pc, in_generation) * UINT64_C(0x94d049bb133111eb);
}

/* Finds pcs that share an entry, for a few entries. */
static void
find_pcs(void)
{
	unsigned have[ENTRIES] = { 0 }, full = 0;

	for (uint64_t pc = UINT64_C(0x7f0000000000); full < ENTRIES; pc++) {
		uint64_t entry = pc * ROW_CACHE_ODD >> (64 - ROW_CACHE_BITS);

		if (entry >= ENTRIES || have[entry] == PCS_OF_ENTRY)
			continue;
		pcs[entry][have[entry]++] = pc;
		full += have[entry] == PCS_OF_ENTRY;
	}
}

struct result {
	unsigned long found;
	unsigned long wrong;
};

static void *
put_and_get(void *argument)
{
	struct result *result = argument;
	uint64_t random = (uintptr_t)argument | 1;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t now = atomic_load_relaxed(&generation);
		uint64_t salt = row_cache_salt(now), pc, row, frame;

		random = random * UINT64_C(6364136223846793005) + 1;
		pc = pcs[random >> 61][random >> 59 & 3];
		if (row_cache_get(row_cache_now(), pc, salt, &row, &frame)) {
			result->found++;
			result->wrong += row != row_of(pc, now) ||
					 frame != frame_of(pc, now);
		} else {
			row_cache_put(pc, salt, row_of(pc, now),
				      frame_of(pc, now));
		}
		if (i % 5000 == 0)
			atomic_add_relaxed(&generation, 1);
	}
	return NULL;
}

static void
what_is_found_was_put(void **state)
{
	struct result results[THREADS] = { { 0, 0 } };
	pthread_t threads[THREADS];
	unsigned long found = 0;

	(void)state;
	assert_int_equal(region_init(REGION_SIZE_MIN, 1), 0);
	assert_int_equal(row_cache_init(), 0);
	find_pcs();
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, put_and_get, &results[i]);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(results[i].wrong, 0);
		found += results[i].found;
	}
	/* It is a cache, not only correct. */
	assert_true(found > ROUNDS / 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_found_was_put),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
