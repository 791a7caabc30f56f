/* SPDX-License-Identifier: Apache-2.0 */
/* threads_parse_test.c - texts of /proc, and names that look like them. */
/* LINK: threads_parse */
#include "threads_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* What stands behind the name and the state in Linux 6.18. */
#define STAT_REST \
	" 1 321 321 0 -1 1077936192 86 0 0 0 5 7 0 0 20 0 13 0 123456 " \
	"117440512 402 18446744073709551615 94005 94009 140735 0 0 0 0 4096 " \
	"0 1 0 0 -1 3 0 0 0 0 0 94014 94015 94880 140735 140736 140737 " \
	"140738 0\n"

static void
expect_stat(const char *text, const char *name, const char *word)
{
	struct thread_stat stat = { .name = "" };

	assert_true(threads_parse_stat(text, &stat));
	assert_string_equal(stat.name, name);
	assert_string_equal(stat.state, word);
	assert_int_equal(stat.start_ticks, 123456);
	assert_int_equal(stat.cpu, 3);
}

static void
stat_and_odd_names(void **state)
{
	struct thread_stat stat;

	(void)state;
	expect_stat("321 (worker) S" STAT_REST, "worker", "sleeping");
	expect_stat("321 (a) R 1 (2) R) D" STAT_REST, "a) R 1 (2) R",
		    "disk-sleep");
	expect_stat("321 () t" STAT_REST, "", "traced");
	expect_stat("321 (two\nlines) Z" STAT_REST, "two\nlines", "zombie");
	expect_stat("321 (a kworker's longer name) q" STAT_REST,
		    "a kworker's lon", "unknown");
	assert_false(threads_parse_stat("", &stat));
	assert_false(threads_parse_stat("321 (worker", &stat));
	assert_false(threads_parse_stat("321 (worker)", &stat));
	assert_false(threads_parse_stat("321 (worker) ", &stat));
	assert_false(threads_parse_stat("321 (worker) S 1 2 3\n", &stat));
	assert_false(threads_parse_stat(")(", &stat));
}

static void
calls(void **state)
{
	struct thread_call call;

	(void)state;
	threads_parse_call(
		"202 0x7f01 0x189 0x0 0x0 0x0 0xffffffffffffffff 0x7ffd10 "
		"0x7f0abc\n",
		&call);
	assert_true(call.known);
	assert_int_equal(call.nr, 202);
	assert_int_equal(call.arguments[1], 0x189);
	assert_true(call.arguments[5] == UINT64_MAX);
	assert_int_equal(call.sp, 0x7ffd10);
	assert_int_equal(call.ip, 0x7f0abc);
	threads_parse_call("-1 0x7ffd10 0x401000\n", &call);
	assert_true(call.known);
	assert_int_equal(call.nr, -1);
	assert_int_equal(call.ip, 0x401000);
	threads_parse_call("running\n", &call);
	assert_false(call.known);
	threads_parse_call("", &call);
	assert_false(call.known);
	threads_parse_call("202 0x7f01 0x189", &call);
	assert_false(call.known);
}

#define SCHED_HEAD \
	" (321, #threads: 13)\n" \
	"-------------------------------------------------------------------" \
	"\n"
#define SCHED_LINES \
	"se.exec_start                                :      " \
	"12363033.113223\n" \
	"se.vruntime                                  :          " \
	"7413.518762\n" \
	"nr_switches                                  :                   " \
	"19\n" \
	"nr_voluntary_switches                        :                   " \
	"17\n" \
	"nr_involuntary_switches                      :                    " \
	"2\n"

static void
expect_sched(const char *text)
{
	struct thread_schedule schedule;

	assert_true(threads_parse_sched(text, &schedule));
	assert_true(schedule.exec_start_ns == UINT64_C(12363033113223));
	assert_int_equal(schedule.switches, 17);
}

static void
sched_and_odd_names(void **state)
{
	struct thread_schedule schedule;

	(void)state;
	expect_sched("worker" SCHED_HEAD SCHED_LINES);
	expect_sched("\nse.exec_start" SCHED_HEAD SCHED_LINES);
	expect_sched("\nse.exec_start:" SCHED_HEAD SCHED_LINES);
	expect_sched("se.exec_start:1" SCHED_HEAD SCHED_LINES);
	assert_false(threads_parse_sched("", &schedule));
	assert_false(threads_parse_sched("worker" SCHED_HEAD, &schedule));
	assert_false(threads_parse_sched("worker" SCHED_HEAD
					 "se.exec_start : 12\n"
					 "nr_voluntary_switches : 3\n",
					 &schedule));
	assert_false(threads_parse_sched("worker" SCHED_HEAD
					 "se.exec_start : 12.345678\n",
					 &schedule));
}

static void
the_kernels_own(void **state)
{
	char text[4096];
	struct thread_schedule schedule;
	struct thread_stat stat;
	FILE *file = fopen("/proc/thread-self/stat", "r");
	size_t length = fread(text, 1, sizeof(text) - 1, file);

	(void)state;
	fclose(file);
	text[length] = '\0';
	assert_true(threads_parse_stat(text, &stat));
	assert_string_equal(stat.state, "running");
	file = fopen("/proc/thread-self/sched", "r");
	if (file == NULL)
		skip(); /* a kernel without CONFIG_SCHED_DEBUG */
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	assert_true(threads_parse_sched(text, &schedule));
	assert_true(schedule.exec_start_ns > 0);
}

static void
processors(void **state)
{
	struct cpu_away list[3] = { { 0 } };

	(void)state;
	threads_parse_away("cpu  8 8 8 8 8 8 8 8 8 8\n"
			   "cpu0 1 2 3 4 5 60 700 8000 9 10\n"
			   "cpu2 1 2 3 4 5 0 1 2 0 0\n"
			   "cpu3 1 2 3 4 5 6 7 8 0 0\n"
			   "intr 12 0 0\n",
			   list, 3);
	assert_true(list[0].known);
	assert_int_equal(list[0].interrupts_ticks, 760);
	assert_int_equal(list[0].stolen_ticks, 8000);
	assert_false(list[1].known);
	assert_true(list[2].known);
	assert_int_equal(list[2].stolen_ticks, 2);
	/* Cut in the last number that is read. */
	threads_parse_away("cpu1 1 2 3 4 5 6 7 8", list, 3);
	assert_false(list[1].known);
	threads_parse_away("", list, 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_and_odd_names),
		cmocka_unit_test(calls),
		cmocka_unit_test(sched_and_odd_names),
		cmocka_unit_test(the_kernels_own),
		cmocka_unit_test(processors),
	};

	return CHECK_RUN(tests);
}
