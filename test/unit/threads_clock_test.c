/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_clock_test.c - times of the scheduler's clocks are never more than
 * the truth.
 */
/* LINK: threads_clock threads_parse arena sys */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "sys.h"
#include "threads_parse.h"

#define SECOND_NS UINT64_C(1000000000)

/* The sched file of the thread that is looked at. */
static char fake_sched[256];

long
threads_read_file(int pid, int tid, const char *name, char *text,
		  size_t size_bytes)
{
	(void)pid;
	(void)tid;
	assert_string_equal(name, "sched");
	return snprintf(text, size_bytes, "%s", fake_sched);
}

static void
thread_left_at(uint64_t exec_start_ns)
{
	snprintf(fake_sched, sizeof(fake_sched),
		 "x (1, #threads: 1)\n"
		 "-----\n"
		 "se.exec_start    :    %llu.%06llu\n"
		 "nr_voluntary_switches   :   9\n",
		 (unsigned long long)(exec_start_ns / 1000000),
		 (unsigned long long)(exec_start_ns % 1000000));
}

/* The thread stays where it is: on another processor nothing is known. */
static void
stay_on(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* This thread's own clock now, and the processor it is of. */
static bool
own_clock(uint64_t *now_ns, unsigned *cpu)
{
	struct thread_schedule own;
	char text[4096];
	unsigned before;

	sys_call3(SYS_getcpu, cpu, NULL, NULL);
	stay_on(*cpu);
	do {
		sys_call0(SYS_sched_yield);
		sys_call3(SYS_getcpu, &before, NULL, NULL);
		if (sys_read_file("/proc/thread-self/sched", text,
				  sizeof(text)) <= 0 ||
		    !threads_parse_sched(text, &own))
			return false;
		sys_call3(SYS_getcpu, cpu, NULL, NULL);
	} while (before != *cpu);
	*now_ns = own.exec_start_ns;
	return true;
}

static uint64_t
blocked_ns(unsigned cpu)
{
	struct thread_record record = { .tid = 1 };
	struct arena arena;
	struct threads threads = { .arena = &arena };

	assert_int_equal(arena_open(&arena, threads_clock_arena_bytes()), 0);
	(void)threads_read_wait(&threads, &record, cpu);
	assert_true(record.wait.known);
	assert_int_equal(record.wait.switches, 9);
	arena_close(&arena);
	return threads_blocked_ns(&record);
}

/* Of whatever processor, what is said lies between the truth and the truth
 * less what the clocks may differ by. */
static void
a_lower_bound(void **state)
{
	uint64_t begin_ns, now_ns, said_ns, most_ns;
	unsigned cpu;

	(void)state;
	/* Before: this thread may lose its processor between the two. */
	begin_ns = sys_clock_ns(CLOCK_MONOTONIC);
	if (!own_clock(&now_ns, &cpu) || now_ns < 20 * SECOND_NS)
		skip(); /* no such file; or a machine that has just started */
	thread_left_at(now_ns - 10 * SECOND_NS);
	/* Of the processor that this thread is on. */
	said_ns = blocked_ns(cpu);
	/* After, for the same reason. */
	most_ns = 10 * SECOND_NS + sys_clock_ns(CLOCK_MONOTONIC) - begin_ns +
		  SECOND_NS / 100;
	assert_true(said_ns > 0);
	assert_true(said_ns <= most_ns);
}

static void
nothing_where_nothing_is_known(void **state)
{
	uint64_t now_ns;
	unsigned cpu;

	(void)state;
	if (!own_clock(&now_ns, &cpu) || now_ns < 20 * SECOND_NS)
		skip();
	thread_left_at(now_ns - 10 * SECOND_NS);
	/* A processor that there is not, or that the list has no room for. */
	assert_int_equal(blocked_ns(1023), 0);
	assert_int_equal(blocked_ns(100000), 0);
	/* Moved and not run since; and later than now. */
	thread_left_at(0);
	assert_int_equal(blocked_ns(cpu), 0);
	thread_left_at(now_ns + 100 * SECOND_NS);
	assert_int_equal(blocked_ns(cpu), 0);
}

static void
no_file_no_time(void **state)
{
	struct thread_record record = { .tid = 1 };
	struct arena arena;
	struct threads threads = { .arena = &arena };

	(void)state;
	fake_sched[0] = '\0';
	assert_int_equal(arena_open(&arena, threads_clock_arena_bytes()), 0);
	assert_true(threads_read_wait(&threads, &record, 1023));
	assert_false(record.wait.known);
	assert_int_equal(threads_blocked_ns(&record), 0);
	arena_close(&arena);
	/* Nor without memory. */
	thread_left_at(1);
	assert_int_equal(arena_open(&arena, 64), 0);
	threads = (struct threads){ .arena = &arena };
	assert_true(threads_read_wait(&threads, &record, 1023));
	assert_true(record.wait.known);
	assert_int_equal(threads_blocked_ns(&record), 0);
	arena_close(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lower_bound),
		cmocka_unit_test(nothing_where_nothing_is_known),
		cmocka_unit_test(no_file_no_time),
	};

	return CHECK_RUN(tests);
}
