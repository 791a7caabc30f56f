/* SPDX-License-Identifier: Apache-2.0 */
/* thread_profile_test.c - each thread is a sample, with its labels. */
/* LINK: thread_profile threads_words log config sys */
#include "thread_profile.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>

#include "check.h"

/* What the profile layer is told. */
struct told {
	unsigned frame_count;
	unsigned label_count;
	int64_t value;
	char thread[THREAD_NAME_MAX];
	char state[THREAD_STATE_MAX];
	int64_t tid;
	int64_t blocked;
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
	strncpy(default_type, type, sizeof(default_type) - 1);
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
	assert_in_range(label_count, 3, 4);
	sample->frame_count = frame_count;
	sample->label_count = label_count;
	sample->value = values[0];
	assert_string_equal(labels[0].key, "thread");
	strncpy(sample->thread, labels[0].text, sizeof(sample->thread) - 1);
	assert_string_equal(labels[1].key, "state");
	strncpy(sample->state, labels[1].text, sizeof(sample->state) - 1);
	assert_string_equal(labels[2].key, "tid");
	assert_null(labels[2].text);
	assert_null(labels[2].unit);
	sample->tid = labels[2].number;
	if (label_count < 4)
		return;
	assert_string_equal(labels[3].key, "blocked");
	assert_null(labels[3].text);
	assert_string_equal(labels[3].unit, "nanoseconds");
	sample->blocked = labels[3].number;
}

static const uint64_t stack[] = { 1, 2, 3 };

static void
a_sample_each(void **state)
{
	struct thread_record records[] = {
		{ .tid = 10,
		  .name = "main",
		  .state = "running",
		  .frames = stack,
		  .frame_count = 3 },
		/* Equal but for the number. */
		{ .tid = 11,
		  .name = "main",
		  .state = "running",
		  .frames = stack,
		  .frame_count = 3 },
		{ .tid = 12, .name = "gone", .state = "sleeping" },
		{ .tid = 13,
		  .name = "worker",
		  .state = "sleeping",
		  .call = { .known = true, .nr = SYS_epoll_wait },
		  .wait = { .known = true,
			    .seen_ns = 5000000000,
			    .since_ns = 1000000001 },
		  .frames = stack,
		  .frame_count = 2 },
		{ .tid = 14,
		  .name = "new",
		  .state = "sleeping",
		  .wait = { .known = true,
			    .seen_ns = 5000000000,
			    .since_ns = 4999000001 },
		  .frames = stack,
		  .frame_count = 1 },
	};
	struct threads threads = { .records = records, .count = 5 };

	(void)state;
	assert_int_equal(thread_profile_count(&threads), 4);
	assert_int_equal(thread_profile_frames(&threads), 3 + 3 + 2 + 1);
	thread_profile_write(NULL, &threads);
	assert_string_equal(default_type, "threads");
	assert_int_equal(told_count, 4);
	for (unsigned i = 0; i < told_count; i++)
		assert_int_equal(told[i].value, 1);
	assert_int_equal(told[0].tid, 10);
	assert_int_equal(told[0].label_count, 3);
	assert_string_equal(told[0].state, "running");
	assert_int_equal(told[1].tid, 11);
	assert_string_equal(told[1].thread, "main");
	assert_string_equal(told[2].thread, "worker");
	assert_string_equal(told[2].state, "epoll_wait");
	assert_int_equal(told[2].frame_count, 2);
	/* Less than 4 s, so 3.999, and less than a millisecond, so nothing. */
	assert_int_equal(told[2].blocked, 3999000000);
	assert_string_equal(told[3].state, "sleeping");
	assert_int_equal(told[3].label_count, 3);
}

static void
expect_words(const char *state, struct thread_call call, const char *expected)
{
	struct thread_record record = { .state = state, .call = call };
	char text[THREAD_STATE_MAX];

	threads_state_text(&record, text);
	assert_string_equal(text, expected);
}

static struct thread_call
call(long nr, uint64_t second)
{
	return (struct thread_call){ .known = true,
				     .nr = nr,
				     .arguments = { 0, second } };
}

static void
states_in_words(void **state)
{
	static const struct {
		long nr;
		const char *name;
	} calls[] = {
		{ SYS_read, "read" },
		{ SYS_poll, "poll" },
		{ SYS_accept, "accept" },
		{ SYS_wait4, "wait4" },
		{ SYS_fsync, "fsync" },
		{ SYS_epoll_wait, "epoll_wait" },
		{ SYS_clock_nanosleep, "clock_nanosleep" },
		{ SYS_sched_get_priority_max, "sched_get_priority_max" },
		{ SYS_rt_sigtimedwait, "rt_sigtimedwait" },
		{ SYS_io_pgetevents, "io_pgetevents" },
		{ SYS_io_uring_enter, "io_uring_enter" },
		{ 450, "set_mempolicy_home_node" },
		{ 455, "futex_wait" },
		{ -1, "page fault" },
		{ 400, "syscall 400" }, /* none between 334 and 424 */
		{ 99999, "syscall 99999" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		expect_words("sleeping", call(calls[i].nr, 0), calls[i].name);
	expect_words("sleeping", call(SYS_futex, FUTEX_WAIT), "futex wait");
	expect_words("sleeping", call(SYS_futex, FUTEX_WAIT_BITSET_PRIVATE),
		     "futex wait");
	expect_words("sleeping",
		     call(SYS_futex,
			  FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME),
		     "futex wait");
	expect_words("sleeping", call(SYS_futex, FUTEX_LOCK_PI), "futex wait");
	expect_words("sleeping", call(SYS_futex, FUTEX_WAKE), "futex");
	/* Whatever it is in: */
	expect_words("running", call(SYS_read, 0), "running");
	expect_words("disk-sleep", call(SYS_read, 0), "disk-sleep");
	expect_words("not answering", call(SYS_read, 0), "not answering");
	expect_words("sleeping", (struct thread_call){ .known = false },
		     "sleeping");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_each),
		cmocka_unit_test(states_in_words),
	};

	return CHECK_RUN(tests);
}
