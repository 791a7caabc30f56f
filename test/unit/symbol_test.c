/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_test.c - symbol_search_next() against dlsym(), in every loaded file.
 *
 * LINK: symbol
 * LIBS: -lz -lm -Wl,--no-as-needed -ldl
 */
#include <dlfcn.h>
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "check.h"
#include "symbol.h"

/* The program's own, in front of libc's: a look-up behind it does not see it */
void *
valloc(size_t size)
{
	(void)size;
	errno = ENOMEM;
	return NULL;
}

static const char *const names[] = {
	"malloc",
	"calloc",
	"realloc",
	"free",
	"posix_memalign",
	"aligned_alloc",
	"memalign",
	"valloc",
	"pvalloc",
	/* In other files than libc; of many hashes. */
	"zlibVersion",
	"deflateInit2_",
	"cos",
	"cmocka_set_message_output",
	"qsort",
	"sigaction",
	"exp",
	"pthread_create",
	"dlclose",
	/* A data symbol's name, a local one's, and none's. */
	"environ",
	"no_such_function",
	"",
};

static void
test_finds_what_dlsym_finds(void **state)
{
	(void)state;
	assert_non_null(zlibVersion());
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *expected = dlsym(RTLD_NEXT, names[i]);

		/* Data is not looked for. */
		if (strcmp(names[i], "environ") == 0)
			expected = NULL;
		if (symbol_search_next(names[i]) != expected)
			fail_msg("%s: %p, not %p", names[i],
				 symbol_search_next(names[i]), expected);
		if (strcmp(names[i], "environ") != 0)
			assert_ptr_equal(symbol_next(names[i]), expected);
	}
	assert_ptr_not_equal(symbol_search_next("valloc"), (void *)valloc);
	assert_non_null(symbol_search_next("malloc"));
}

/* Where dlsym(RTLD_NEXT) before glibc 2.36 has the oldest one. */
static void
test_of_two_versions_the_default_one(void **state)
{
	(void)state;
	assert_ptr_equal(symbol_search_next("regexec"), (void *)regexec);
}

/* What glibc chooses for the processor is a resolver's answer. */
static void
test_calls_a_resolver(void **state)
{
	(void)state;
	assert_non_null(dlsym(RTLD_NEXT, "strlen"));
	assert_ptr_equal(symbol_search_next("strlen"),
			 dlsym(RTLD_NEXT, "strlen"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_what_dlsym_finds),
		cmocka_unit_test(test_of_two_versions_the_default_one),
		cmocka_unit_test(test_calls_a_resolver),
	};

	return CHECK_RUN(tests);
}
