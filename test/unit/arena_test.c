/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena_test.c - a dump's memory leaves the program its own.
 *
 * LINK: arena sys
 */
#include "arena.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "check.h"

#define MIB ((size_t)1 << 20)

/* A line of /proc/self/status, in bytes. */
static size_t
status_bytes(const char *name)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	size_t kib = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, name, strlen(name)) == 0)
			kib = strtoul(line + strlen(name), NULL, 10);
	fclose(file);
	return kib << 10;
}

/* The limit is so much above what there is; what it was. */
static struct rlimit
leave(int which, const char *name, size_t bytes)
{
	struct rlimit before, limit;

	assert_return_code(getrlimit((__rlimit_resource_t)which, &before),
			   errno);
	limit = before;
	limit.rlim_cur = status_bytes(name) + bytes;
	assert_return_code(setrlimit((__rlimit_resource_t)which, &limit),
			   errno);
	return before;
}

static void
half_of_the_address_space_is_left(void **state)
{
	struct rlimit before = leave(RLIMIT_AS, "VmSize:", 64 * MIB);
	struct arena arena;

	(void)state;
	assert_int_equal(arena_open(&arena, 40 * MIB), -ENOMEM);
	assert_int_equal(arena_open(&arena, 24 * MIB), 0);
	assert_non_null(arena_alloc(&arena, 20 * MIB));
	arena_close(&arena);
	setrlimit(RLIMIT_AS, &before);
}

static void
half_of_the_data_is_left(void **state)
{
	struct rlimit before = leave(RLIMIT_DATA, "VmData:", 64 * MIB);
	size_t data = status_bytes("VmData:");
	struct arena arena;

	(void)state;
	/* Asking for much is nothing yet. */
	assert_int_equal(arena_open(&arena, 500 * MIB), 0);
	assert_in_range(status_bytes("VmData:"), data, data + MIB);
	assert_non_null(arena_alloc(&arena, 20 * MIB));
	assert_null(arena_alloc(&arena, 20 * MIB));
	arena_close(&arena);
	setrlimit(RLIMIT_DATA, &before);
}

static void
what_is_not_handed_out_is_not_locked(void **state)
{
	struct arena arena;
	size_t locked;
	char *memory;

	(void)state;
	if (mlockall(MCL_FUTURE) != 0)
		skip();
	locked = status_bytes("VmRSS:");
	assert_int_equal(arena_open(&arena, 64 * MIB), 0);
	memory = arena_alloc(&arena, 100);
	assert_non_null(memory);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(memory[i], 0);
	assert_in_range(status_bytes("VmRSS:"), 0, locked + 2 * MIB);
	arena_close(&arena);
	munlockall();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_of_the_address_space_is_left),
		cmocka_unit_test(half_of_the_data_is_left),
		cmocka_unit_test(what_is_not_handed_out_is_not_locked),
	};

	return CHECK_RUN(tests);
}
