/* SPDX-License-Identifier: Apache-2.0 */
/* text_profile_test.c - heap and threads profiles as legacy text. */
/* LINK: heap_profile_text heap_profile thread_profile_text text_profile text */
/* LINK: thread_profile threads_words log config pprof wire gzip arena sys */
/* LIBS: -l:libz.a -lm */
#include "text_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "fake_modules.h"
#include "fake_stacks.h"
#include "frame.h"
#include "heap_profile_text.h"
#include "thread_profile_text.h"

#define RATE (UINT64_C(512) << 10)
#define BIAS UINT64_C(0x555555554000)

/* Which modules are loaded: bit n is number n. */
static uint64_t loaded;

unsigned
modules_find(uintptr_t address)
{
	for (unsigned i = 1; i < fake_module_count; i++)
		if (loaded >> i & 1 && fake_modules[i].map_start == address)
			return i;
	return 0;
}

struct fixture {
	struct arena arena;
	struct text *text;
	struct text_profile *profile;
	int fd;
	char *read;
};

static int
set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fake_module_count = 1;
	fake_module("/usr/bin/program", BIAS);
	loaded = ~UINT64_C(0);
	f->fd = memfd_create("text_profile_test", MFD_CLOEXEC);
	*state = f;
	return arena_open(&f->arena, 16 << 20);
}

static int
tear_down(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < fake_bucket_count; i++)
		free(fake_buckets[i].stack);
	fake_bucket_count = 0;
	free(f->read);
	close(f->fd);
	arena_close(&f->arena);
	free(f);
	return 0;
}

static void
begin(struct fixture *f)
{
	f->text = text_open(&f->arena, f->fd);
	assert_non_null(f->text);
	f->profile = text_profile_open(&f->arena, f->text);
	assert_non_null(f->profile);
}

/* Ends the stream and compares the file with what is expected. */
static void
expect(struct fixture *f, const char *wanted)
{
	off_t bytes;

	assert_int_equal(text_close(f->text), 0);
	bytes = lseek(f->fd, 0, SEEK_END);
	f->read = calloc(1, (size_t)bytes + 1);
	assert_int_equal(pread(f->fd, f->read, (size_t)bytes, 0), bytes);
	assert_string_equal(f->read, wanted);
}

static void
heap(struct fixture *f, uint64_t rate_bytes, const char *wanted)
{
	struct heap_rows rows;

	assert_int_equal(heap_rows_capture(&rows, &f->arena), 0);
	begin(f);
	heap_profile_text_write(f->profile, &rows, rate_bytes);
	expect(f, wanted);
}

static void
test_raw_figures(void **state)
{
	const uint64_t frames[] = { frame_make(1, 0x1100),
				    frame_make(1, 0x1200) };
	struct bucket *bucket = fake_bucket(frames, 2, 1024);

	for (int i = 0; i < 3; i++)
		fake_count(&bucket->allocated, 1024, RATE);
	fake_count(&bucket->freed, 1024, RATE);
	/* Made, but its first sample is not counted yet. */
	fake_bucket(frames, 1, 1280);
	/* The return addresses: of the call's last byte plus one. */
	heap(*state, RATE,
	     "heap profile: 2: 2048 [3: 3072] @ heap_v2/524288\n"
	     "2: 2048 [3: 3072] @ 0x555555555101 0x555555555201\n");
}

static void
test_four_columns_always(void **state)
{
	const uint64_t frame = frame_make(1, 0x1100);

	fake_count(&fake_bucket(&frame, 1, 1000)->allocated, 1000, RATE);
	/* The first line alone tells Go's reader of two columns or four. */
	heap(*state, RATE,
	     "heap profile: 1: 1000 [1: 1001] @ heap_v2/524288\n"
	     "1: 1000 [1: 1000] @ 0x555555555101\n");
}

/* The label is the first block's size, where the mean would say another. */
static void
test_mixed_sizes(void **state)
{
	const uint64_t frame = frame_make(1, 0x1100);
	struct bucket *bucket = fake_bucket(&frame, 1, 1024);

	fake_count(&bucket->allocated, 1024, RATE);
	fake_count(&bucket->allocated, 1200, RATE);
	heap(*state, RATE,
	     "heap profile: 2: 2224 [2: 2225] @ heap_v2/524288\n"
	     "# bytes = 1024\n"
	     "2: 2224 [2: 2224] @ 0x555555555101\n");
}

static void
test_no_samples(void **state)
{
	heap(*state, RATE, "heap profile: 0: 0 [0: 1] @ heap_v2/524288\n");
}

static void
test_blocks_of_no_size(void **state)
{
	const uint64_t frame = frame_make(1, 0x1100);
	struct bucket *bucket = fake_bucket(&frame, 1, 0);

	fake_count(&bucket->allocated, 0, RATE);
	fake_count(&bucket->allocated, 0, RATE);
	fake_count(&bucket->freed, 0, RATE);
	heap(*state, RATE,
	     "heap profile: 1: 1 [2: 2] @ heap_v2/524288\n"
	     "1: 1 [2: 2] @ 0x555555555101\n");
}

static void
test_every_allocation_is_no_sample(void **state)
{
	const uint64_t frame = frame_make(1, 0x1100);
	struct bucket *bucket = fake_bucket(&frame, 1, 0);

	fake_count(&bucket->allocated, 0, 1);
	fake_count(&bucket->allocated, 0, 1);
	fake_count(&bucket->freed, 0, 1);
	heap(*state, 1,
	     "heap profile: 1: 0 [2: 1] @ heapprofile\n"
	     "1: 0 [2: 0] @ 0x555555555101\n");
}

/* Sums that were read while a free came in. */
static void
test_no_bytes_of_nothing(void **state)
{
	const uint64_t frame = frame_make(1, 0x1100);
	struct bucket *bucket = fake_bucket(&frame, 1, 100);

	bucket->allocated = (struct tally){ .objects = 2, .bytes = 200 };
	bucket->freed = (struct tally){ .objects = 2, .bytes = 100 };
	heap(*state, RATE,
	     "heap profile: 0: 0 [2: 200] @ heap_v2/524288\n"
	     "0: 0 [2: 200] @ 0x555555555101\n");
}

static void
test_threads(void **state)
{
	struct fixture *f = *state;
	const uint64_t stack[] = { frame_make(1, 0x1100), frame_make(0, 0x7000),
				   FRAME_TRUNCATED };
	struct thread_record records[] = {
		{ .tid = 4711,
		  .name = "two\nlines",
		  .state = "sleeping",
		  .wait = { .known = true,
			    .since_ns = UINT64_C(1000000000),
			    .seen_ns = UINT64_C(740999999999) },
		  .frames = stack,
		  .frame_count = 3 },
		{ .tid = 1, .name = "gone" },
		{ .tid = 4712,
		  .name = "\"a\\b\"",
		  .state = "sleeping",
		  .call = { .known = true, .nr = 0 },
		  .wait = { .known = true,
			    .since_ns = UINT64_C(1000000000),
			    .seen_ns = UINT64_C(60999999999) },
		  .frames = stack,
		  .frame_count = 1 },
	};
	const struct threads threads = { .records = records, .count = 3 };

	begin(f);
	thread_profile_text_write(f->profile, &threads);
	text_profile_mappings(f->profile);
	expect(f, "threads profile: total 2\n"
		  "\n"
		  "# thread 4711 \"two\\x0alines\" [sleeping, 12 minutes]:\n"
		  "1 @ 0x555555555101 0x7001 0x800000000001\n"
		  "#\t0x555555555100\tprogram+0x1100\n"
		  "#\t0x7000\n"
		  "#\t0x800000000000\t[truncated]\n"
		  "\n"
		  "# thread 4712 \"\\\"a\\\\b\\\"\" [read]:\n"
		  "1 @ 0x555555555101\n"
		  "#\t0x555555555100\tprogram+0x1100\n"
		  "555555555000-555555565000 r-xp 00001000 00:00 0 "
		  "/usr/bin/program\n"
		  "800000000000-800000001000 r-xp 00000000 00:00 0 "
		  "[truncated]\n");
}

/* Two libraries that had one address: only the loaded one is there. */
static void
test_closed_library_has_a_place_of_its_own(void **state)
{
	struct fixture *f = *state;
	unsigned closed = fake_module("/lib/first.so", 0x7f0000000000);
	unsigned other = fake_module("/lib/second.so", 0x7f0000000000);
	unsigned unused = fake_module("/lib/third.so", 0x7e0000000000);
	const uint64_t stack[] = { frame_make(closed, 0x1100),
				   frame_make(other, 0x1100),
				   frame_make(closed, 0x1200),
				   /* A number that was never given. */
				   frame_make(unused + 1, 0x42) };

	loaded &= ~(UINT64_C(1) << closed);
	begin(f);
	text_profile_stack(f->profile, stack, 4);
	text_put(f->text, "\n");
	text_profile_build_ids(f->profile);
	text_profile_mappings(f->profile);
	expect(f, " 0x800000002101 0x7f0000001101 0x800000002201 0x43\n"
		  "# build_id = 101112131415161718191a1b1c1d1e1f20212223 "
		  "0x555555555000\n"
		  "# build_id = 202122232425262728292a2b2c2d2e2f30313233 "
		  "0x800000002000\n"
		  "# build_id = 303132333435363738393a3b3c3d3e3f40414243 "
		  "0x7f0000001000\n"
		  "555555555000-555555565000 r-xp 00001000 00:00 0 "
		  "/usr/bin/program\n"
		  "800000002000-800000012000 r-xp 00001000 00:00 0 "
		  "/lib/first.so\n"
		  "7f0000001000-7f0000011000 r-xp 00001000 00:00 0 "
		  "/lib/second.so\n");
}

static void
test_numbers(void **state)
{
	struct fixture *f = *state;

	begin(f);
	text_number(f->text, 0);
	text_put(f->text, " ");
	text_number(f->text, UINT64_MAX);
	text_put(f->text, " ");
	text_hex(f->text, 0, 1);
	text_put(f->text, " ");
	text_hex(f->text, UINT64_MAX, 1);
	text_put(f->text, " ");
	text_hex(f->text, 0xab, 8);
	expect(f, "0 18446744073709551615 0 ffffffffffffffff 000000ab");
}

/* More than the buffer takes arrives whole; a full disk is reported. */
static void
test_long_and_full(void **state)
{
	struct fixture *f = *state;
	size_t bytes = 0;

	begin(f);
	for (unsigned i = 0; i < 100000; i++)
		text_number(f->text, i % 10);
	assert_int_equal(text_close(f->text), 0);
	bytes = (size_t)lseek(f->fd, 0, SEEK_END);
	assert_int_equal(bytes, 100000);
	f->read = calloc(1, bytes + 1);
	assert_int_equal(pread(f->fd, f->read, bytes, 0), bytes);
	for (unsigned i = 0; i < 100000; i++)
		assert_int_equal(f->read[i], '0' + i % 10);

	close(f->fd);
	f->fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	begin(f);
	for (unsigned i = 0; i < 100000; i++)
		text_number(f->text, i % 10);
	assert_int_equal(text_close(f->text), -ENOSPC);
}

static void
test_small_arena(void **state)
{
	struct fixture *f = *state;

	arena_close(&f->arena);
	assert_int_equal(arena_open(&f->arena, 4096), 0);
	assert_null(text_open(&f->arena, f->fd));
}

int
main(void)
{
#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_raw_figures),
		TEST(test_four_columns_always),
		TEST(test_mixed_sizes),
		TEST(test_no_samples),
		TEST(test_blocks_of_no_size),
		TEST(test_every_allocation_is_no_sample),
		TEST(test_no_bytes_of_nothing),
		TEST(test_threads),
		TEST(test_closed_library_has_a_place_of_its_own),
		TEST(test_numbers),
		TEST(test_long_and_full),
		TEST(test_small_arena),
	};

	return CHECK_RUN(tests);
}
