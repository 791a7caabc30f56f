/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - cmocka and what it wants included, in one line. */
#ifndef TEST_UNIT_CHECK_H
#define TEST_UNIT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Runs a table of tests and reports in TAP, which prove reads. */
#define CHECK_RUN(tests) \
	(cmocka_set_message_output(CM_OUTPUT_TAP), \
	 cmocka_run_group_tests(tests, NULL, NULL))

#endif
