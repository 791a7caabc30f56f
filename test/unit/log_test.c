/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_test.c - the errors' texts are libc's, of which no number is left out.
 *
 * LINK: log sys
 */
#include <string.h>

#include "check.h"
#include "config.h"
#include "log.h"

struct config config; /* what log.c needs of it */

static void
test_errors_are_called_as_by_libc(void **state)
{
	unsigned known = 0;

	(void)state;
	for (long error = 1; error < 200; error++) {
		const char *expected = strerror((int)error);

		if (strncmp(expected, "Unknown error", 13) == 0)
			expected = "unknown error";
		else
			known++;
		assert_string_equal(log_error_text(-error), expected);
	}
	assert_true(known > 100);
	assert_string_equal(log_error_text(0), "unknown error");
	assert_string_equal(log_error_text(1), "unknown error");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_are_called_as_by_libc),
	};

	return CHECK_RUN(tests);
}
