/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffers_test.c - as many buffers as walks are under way, within a limit.
 *
 * LINK: buffers region counters sys
 */
#include "buffers.h"

#include "check.h"
#include "config.h"
#include "counters.h"

struct config config = { .depth_frames = 128 };

#define MANY 1000
#define THREAD_BYTES 0x801000 /* 8 MiB and a guard page */

static struct sample_buffer *taken[MANY];

static struct sample_buffer *
take_for(unsigned thread)
{
	return buffers_take(UINT64_C(0x7f0000000740) +
			    (uint64_t)thread * THREAD_BYTES);
}

static void
one_thread_has_one_buffer(void **state)
{
	struct sample_buffer *buffer = take_for(0);
	size_t used = region_used_bytes();

	(void)state;
	assert_non_null(buffer);
	for (unsigned i = 0; i < MANY; i++) {
		buffers_give(buffer);
		assert_ptr_equal(take_for(0), buffer);
	}
	buffers_give(buffer);
	assert_int_equal(region_used_bytes(), used);
}

static void
a_thousand_walk_at_a_time(void **state)
{
	(void)state;
	for (unsigned i = 0; i < MANY; i++) {
		taken[i] = take_for(i);
		assert_non_null(taken[i]);
		/* All its own. */
		for (unsigned frame = 0; frame < config.depth_frames; frame++)
			taken[i]->frames[frame] = i;
	}
	for (unsigned i = 0; i < MANY; i++) {
		for (unsigned frame = 0; frame < config.depth_frames; frame++)
			assert_int_equal(taken[i]->frames[frame], i);
		buffers_give(taken[i]);
	}
	assert_int_equal(counter_value(COUNTER_samples_dropped_busy), 0);
}

static void
never_more_than_the_share(void **state)
{
	uint64_t size = region_header()->size_bytes;
	unsigned count = 0;

	(void)state;
	while (take_for(count) != NULL)
		count++;
	assert_true(count > MANY);
	assert_true(region_used_bytes() < size / 8 + 65536);
	assert_int_equal(counter_value(COUNTER_samples_dropped_busy), 1);
	/* One that is given serves whoever comes, of any list. */
	buffers_fork_child();
	for (unsigned i = 0; i < count; i++)
		assert_non_null(take_for(7));
	assert_null(take_for(7));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread_has_one_buffer),
		cmocka_unit_test(a_thousand_walk_at_a_time),
		cmocka_unit_test(never_more_than_the_share),
	};

	if (region_init((size_t)64 << 20, 1) != 0 || buffers_init() != 0)
		return 1;
	return CHECK_RUN(tests);
}
