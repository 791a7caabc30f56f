/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes_test.c - our string.h against what the standard says, byte by byte.
 *
 * LINK: bytes
 * CFLAGS: -fno-builtin -ffreestanding -fno-tree-loop-distribute-patterns
 */
#include <stdint.h>
#include <string.h>

#include "check.h"

#define SIZE 600

static unsigned char from[SIZE], to[SIZE];

static void
fill(void)
{
	for (unsigned i = 0; i < SIZE; i++) {
		from[i] = (unsigned char)(i * 7 + 1);
		to[i] = 0xee;
	}
}

static void
copies_just_what_is_asked(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 300; n++)
		for (unsigned at = 0; at < 9; at++) {
			fill();
			assert_ptr_equal(memcpy(to + at, from + 3, n), to + at);
			for (unsigned i = 0; i < SIZE; i++)
				assert_int_equal(to[i],
						 i >= at && i < at + n
							 ? from[i - at + 3]
							 : 0xee);
		}
}

static void
moves_over_itself(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 200; n++)
		for (int by = -20; by <= 20; by++) {
			fill();
			memmove(from + 100 + by, from + 100, n);
			for (unsigned i = 0; i < n; i++)
				assert_int_equal(from[100 + by + (int)i],
						 (unsigned char)((i + 100) * 7 +
								 1));
		}
}

static void
sets(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 200; n++) {
		fill();
		memset(to + 5, 0x1ab, n);
		for (unsigned i = 0; i < SIZE; i++)
			assert_int_equal(to[i],
					 i >= 5 && i < 5 + n ? 0xab : 0xee);
	}
}

static void
compares_unsigned(void **state)
{
	unsigned char a[64], b[64];

	(void)state;
	for (unsigned n = 0; n < 64; n++)
		for (unsigned at = 0; at < 64; at++) {
			for (unsigned i = 0; i < 64; i++)
				a[i] = b[i] = (unsigned char)i;
			a[at] = 0xff;
			b[at] = 0x01;
			assert_true(at < n ? memcmp(a, b, n) > 0
					   : memcmp(a, b, n) == 0);
			assert_true(at < n ? memcmp(b, a, n) < 0
					   : memcmp(b, a, n) == 0);
		}
}

static void
strings(void **state)
{
	static const char s[] = "a/bc/d";
	char copy[16];

	(void)state;
	assert_int_equal(strlen(s), 6);
	assert_int_equal(strlen(""), 0);
	assert_int_equal(strnlen(s, 4), 4);
	assert_int_equal(strnlen(s, 40), 6);
	assert_ptr_equal(strchr(s, '/'), s + 1);
	assert_ptr_equal(strchr(s, '\0'), s + 6);
	assert_null(strchr(s, 'x'));
	assert_ptr_equal(strrchr(s, '/'), s + 4);
	assert_ptr_equal(strrchr(s, '\0'), s + 6);
	assert_null(strrchr(s, 'x'));
	assert_int_equal(strcspn(s, "/c"), 1);
	assert_int_equal(strcspn(s, "x"), 6);
	assert_int_equal(strspn(s, "ab/"), 3);
	assert_int_equal(strspn(s, "x"), 0);
	assert_ptr_equal(strstr(s, "c/"), s + 3);
	assert_ptr_equal(strstr(s, ""), s);
	assert_null(strstr(s, "cd"));
	assert_ptr_equal(strcpy(copy, s), copy);
	assert_int_equal(strcmp(copy, s), 0);
	assert_true(strcmp("ab", "abc") < 0 && strcmp("abc", "ab") > 0);
	assert_true(strcmp("\xff", "a") > 0);
	assert_int_equal(strncmp("abx", "aby", 2), 0);
	assert_true(strncmp("abx", "aby", 3) < 0);
	assert_int_equal(strncmp("ab", "ab", 9), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_just_what_is_asked),
		cmocka_unit_test(moves_over_itself),
		cmocka_unit_test(sets),
		cmocka_unit_test(compares_unsigned),
		cmocka_unit_test(strings),
	};

	return CHECK_RUN(tests);
}
