/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals_test.c - the command takes the names that the agent takes.
 *
 * LINK: ../symbolize/signals
 * CFLAGS: -Isymbolize
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "signals.h"

static void
test_names(void **state)
{
	(void)state;
	assert_int_equal(signals_parse("USR2"), SIGUSR2);
	assert_int_equal(signals_parse("SIGUSR2"), SIGUSR2);
	assert_int_equal(signals_parse("WINCH"), SIGWINCH);
	assert_int_equal(signals_parse("12"), 12);
	assert_int_equal(signals_parse("none"), 0);
	assert_int_equal(signals_parse("RTMIN"), SIGRTMIN);
	assert_int_equal(signals_parse("SIGRTMIN+5"), SIGRTMIN + 5);
}

static void
test_not_names(void **state)
{
	static const char *const bad[] = { "",	      "SIG",	  "usr2",
					   "USR3",    "-1",	  "+12",
					   " 12",     "12 ",	  "65",
					   "1e1",     "RTMIN+",	  "RTMIN-1",
					   "RTMIN+x", "RTMIN+99", "SIGSIGUSR2",
					   "RTMIN+-1" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (signals_parse(bad[i]) != -1)
			fail_msg("'%s' was taken", bad[i]);
}

static void
test_there_and_back(void **state)
{
	char name[32];

	(void)state;
	for (int signal = 1; signal <= SIGRTMAX; signal++) {
		/* libc keeps 32 and 33 to itself. */
		if (signal > SIGSYS && signal < SIGRTMIN)
			continue;
		signals_name(signal, name, sizeof(name));
		assert_int_equal(signals_parse(name), signal);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_not_names),
		cmocka_unit_test(test_there_and_back),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
