/* SPDX-License-Identifier: Apache-2.0 */
/* gzip_test.c - what gzip.c writes, read back by gzip and by zlib. */
/* LINK: gzip arena sys */
/* LIBS: -l:libz.a */
#include "gzip.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"
#include "compiler.h"
#include "wire_reader.h"

#define BIG_BYTES ((size_t)3 << 20)

static int
open_scratch(void)
{
	int fd = memfd_create("gzip_test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static unsigned char *
make_noise(size_t size_bytes)
{
	unsigned char *data = malloc(size_bytes);
	uint64_t state = 1;

	for (size_t i = 0; i < size_bytes; i++) {
		state = state * 6364136223846793005U + 1442695040888963407U;
		data[i] = (unsigned char)(state >> 56);
	}
	return data;
}

/* Compresses data in parts, and gives back what zlib makes of the file. */
static void
check_round_trip(const unsigned char *data, size_t size_bytes, size_t part)
{
	struct arena arena;
	struct gzip *gzip;
	unsigned char *back;
	size_t back_bytes = 0;
	int fd = open_scratch();

	assert_int_equal(arena_open(&arena, GZIP_ARENA_BYTES), 0);
	gzip = gzip_open(&arena, fd);
	assert_non_null(gzip);
	for (size_t i = 0; i < size_bytes; i += part)
		gzip_write(gzip, data + i,
			   part < size_bytes - i ? part : size_bytes - i);
	assert_int_equal(gzip_close(gzip), 0);
	assert_true(arena.used_bytes <= GZIP_ARENA_BYTES);
	arena_close(&arena);
	back = read_gzip(fd, &back_bytes);
	assert_non_null(back);
	assert_int_equal(back_bytes, size_bytes);
	assert_memory_equal(back, data, size_bytes);
	free(back);
	close(fd);
}

static void
test_empty_stream(void **state)
{
	(void)state;
	check_round_trip((const unsigned char *)"", 0, 1);
}

static void
test_noise_in_parts_of_every_size(void **state)
{
	unsigned char *noise = make_noise(BIG_BYTES);

	(void)state;
	check_round_trip(noise, BIG_BYTES, BIG_BYTES);
	check_round_trip(noise, BIG_BYTES, 65536);
	check_round_trip(noise, 100000, 1);
	check_round_trip(noise, 1, 1);
	free(noise);
}

static void
test_zeroes_shrink(void **state)
{
	unsigned char *zeroes = calloc(1, BIG_BYTES);

	(void)state;
	check_round_trip(zeroes, BIG_BYTES, 1000);
	free(zeroes);
}

static void
test_gzip_program_accepts_it(void **state)
{
	unsigned char *noise = make_noise(200000);
	struct arena arena;
	struct gzip *gzip;
	char command[64];
	int fd = open_scratch();

	(void)state;
	assert_int_equal(arena_open(&arena, GZIP_ARENA_BYTES), 0);
	gzip = gzip_open(&arena, fd);
	gzip_write(gzip, noise, 200000);
	assert_int_equal(gzip_close(gzip), 0);
	arena_close(&arena);
	snprintf(command, sizeof(command), "gzip -t < /proc/%d/fd/%d", getpid(),
		 fd);
	assert_int_equal(system(command), 0);
	/* And it is seen to look: half the file is refused. */
	assert_int_equal(ftruncate(fd, 100000), 0);
	snprintf(command, sizeof(command), "gzip -t < /proc/%d/fd/%d 2>&-",
		 getpid(), fd);
	assert_int_not_equal(system(command), 0);
	free(noise);
	close(fd);
}

static void
test_arena_too_small(void **state)
{
	const size_t sizes[] = { 4096, 65536, 200000, 300000 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct arena arena;

		assert_int_equal(arena_open(&arena, sizes[i]), 0);
		assert_null(gzip_open(&arena, 1));
		arena_close(&arena);
	}
}

/* Writes noise to fd: the result of gzip_close(). */
static int
write_noise(int fd, size_t size_bytes)
{
	unsigned char *noise = make_noise(size_bytes);
	struct arena arena;
	struct gzip *gzip;
	int r;

	assert_int_equal(arena_open(&arena, GZIP_ARENA_BYTES), 0);
	gzip = gzip_open(&arena, fd);
	gzip_write(gzip, noise, size_bytes);
	r = gzip_close(gzip);
	arena_close(&arena);
	free(noise);
	return r;
}

static void
test_full_disk(void **state)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	/* Found at the first block written, and only at the end. */
	assert_int_equal(write_noise(fd, BIG_BYTES), -ENOSPC);
	assert_int_equal(write_noise(fd, 10), -ENOSPC);
	close(fd);
}

static void
test_closed_descriptor(void **state)
{
	int fd = open_scratch();

	(void)state;
	close(fd);
	assert_int_equal(write_noise(fd, 10), -EBADF);
	assert_int_equal(write_noise(fd, BIG_BYTES), -EBADF);
}

static void
test_file_size_limit(void **state)
{
	struct rlimit old, limit = { 100000, 100000 };
	char path[] = "/tmp/gzip_test.XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	unlink(path);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_int_equal(write_noise(fd, BIG_BYTES), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_stream),
		cmocka_unit_test(test_noise_in_parts_of_every_size),
		cmocka_unit_test(test_zeroes_shrink),
		cmocka_unit_test(test_gzip_program_accepts_it),
		cmocka_unit_test(test_arena_too_small),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_closed_descriptor),
		cmocka_unit_test(test_file_size_limit),
	};

	return CHECK_RUN(tests);
}
