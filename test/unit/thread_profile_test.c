/* SPDX-License-Identifier: Apache-2.0 */
/* thread_profile_test.c - equal threads are one sample, others are not. */
/* LINK: thread_profile arena sys */
#include "thread_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* What the profile layer is told. */
struct told {
	unsigned frame_count;
	int64_t value;
	char thread[THREAD_NAME_MAX];
	char state[16];
};
static struct told told[8];
static unsigned told_count;
static char default_type[16];

void
pprof_sample_type(struct pprof *pprof, struct pprof_value_type type)
{
	(void)pprof;
	assert_string_equal(type.type, "threads");
	assert_string_equal(type.unit, "count");
}

void
pprof_default_sample_type(struct pprof *pprof, const char *type)
{
	(void)pprof;
	snprintf(default_type, sizeof(default_type), "%s", type);
}

void
pprof_period(struct pprof *pprof, struct pprof_value_type type, int64_t period)
{
	(void)pprof;
	assert_string_equal(type.type, "threads");
	assert_int_equal(period, 1);
}

void
pprof_sample(struct pprof *pprof, const uint64_t *frames, unsigned frame_count,
	     const int64_t *values, unsigned value_count,
	     const struct pprof_label *labels, unsigned label_count)
{
	struct told *sample = &told[told_count++];

	(void)pprof;
	(void)frames;
	assert_int_equal(value_count, 1);
	assert_int_equal(label_count, 2);
	assert_string_equal(labels[0].key, "thread");
	assert_string_equal(labels[1].key, "state");
	sample->frame_count = frame_count;
	sample->value = values[0];
	snprintf(sample->thread, sizeof(sample->thread), "%s", labels[0].text);
	snprintf(sample->state, sizeof(sample->state), "%s", labels[1].text);
}

static const uint64_t stack_a[] = { 1, 2, 3 };
static const uint64_t stack_b[] = { 1, 2, 4 };

static struct thread_record
record(const char *name, const char *state, const uint64_t *frames,
       unsigned count)
{
	struct thread_record made = { .state = state,
				      .frames = frames,
				      .frame_count = count };

	snprintf(made.name, sizeof(made.name), "%s", name);
	return made;
}

static void
groups_by_stack_name_and_state(void **state)
{
	struct thread_record records[] = {
		record("worker", "sleeping", stack_a, 3),
		record("worker", "sleeping", stack_b, 3),
		record("worker", "running", stack_a, 3),
		record("other", "sleeping", stack_a, 3),
		record("worker", "sleeping", stack_a, 2),
		record("worker", "sleeping", stack_a, 3),
		record("gone", "sleeping", NULL, 0),
	};
	struct threads threads = { .records = records, .count = 7 };
	struct thread_groups groups;
	struct arena arena;

	(void)state;
	assert_int_equal(arena_open(&arena, thread_groups_arena_bytes(7)), 0);
	assert_int_equal(thread_groups_make(&groups, &arena, &threads), 0);
	assert_int_equal(groups.count, 5);
	assert_int_equal(groups.groups[0].count, 2);
	assert_int_equal(thread_groups_frames(&groups), 3 + 3 + 3 + 3 + 2);
	thread_profile_write(NULL, &groups);
	assert_string_equal(default_type, "threads");
	assert_int_equal(told_count, 5);
	assert_int_equal(told[0].value, 2);
	assert_string_equal(told[0].thread, "worker");
	assert_string_equal(told[0].state, "sleeping");
	assert_int_equal(told[4].frame_count, 2);
	arena_close(&arena);
}

static void
many_threads_one_group_each(void **state)
{
	enum { COUNT = 5000 };
	static struct thread_record records[COUNT];
	static uint64_t frames[COUNT];
	struct threads threads = { .records = records, .count = COUNT };
	struct thread_groups groups;
	struct arena arena;

	(void)state;
	for (unsigned i = 0; i < COUNT; i++) {
		frames[i] = i / 2;
		records[i] = record("w", "sleeping", &frames[i], 1);
	}
	assert_int_equal(arena_open(&arena, thread_groups_arena_bytes(COUNT)),
			 0);
	assert_int_equal(thread_groups_make(&groups, &arena, &threads), 0);
	assert_int_equal(groups.count, COUNT / 2);
	for (unsigned i = 0; i < groups.count; i++)
		assert_int_equal(groups.groups[i].count, 2);
	arena_close(&arena);
}

static void
too_small_an_arena_is_an_error(void **state)
{
	struct thread_record one = record("w", "running", stack_a, 3);
	struct threads threads = { .records = &one, .count = 1 };
	struct thread_groups groups;
	struct arena arena;

	(void)state;
	assert_int_equal(arena_open(&arena, 64), 0);
	assert_true(thread_groups_make(&groups, &arena, &threads) < 0);
	arena_close(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_by_stack_name_and_state),
		cmocka_unit_test(many_threads_one_group_each),
		cmocka_unit_test(too_small_an_arena_is_an_error),
	};

	return CHECK_RUN(tests);
}
