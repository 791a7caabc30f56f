/* SPDX-License-Identifier: Apache-2.0 */
/* heap_profile_test.c - from what was counted to what a profile says. */
/* LINK: heap_profile pprof wire gzip arena sampler thread sys */
/* LIBS: -l:libz.a -lm */
#include "heap_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "fake_modules.h"
#include "fake_stacks.h"
#include "frame.h"
#include "sampler.h"
#include "wire_reader.h"

#define RATE (UINT64_C(512) << 10)

struct row_read {
	int64_t values[4];
	unsigned frame_count;
	bool labelled;
	uint64_t block_bytes;
};

struct fixture {
	struct arena arena;
	struct heap_rows rows;
	unsigned char *data;
	struct reader all;
	struct row_read read[64];
	unsigned read_count;
};

static const uint64_t frames[] = { 0x0001000000001100, 0x0001000000001200,
				   0x0001000000001300 };

static int
set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fake_module_count = 1;
	fake_module("/usr/bin/program", 0x555555554000);
	*state = f;
	return arena_open(&f->arena, 64 << 20);
}

static int
tear_down(void **state)
{
	struct fixture *f = *state;

	fake_forget();
	free(f->data);
	arena_close(&f->arena);
	free(f);
	return 0;
}

static void
read_sample(struct row_read *row, struct reader sample)
{
	struct field field, label;

	while (read_field(&sample, &field)) {
		if (field.number == 1)
			while (field.bytes.p != field.bytes.end) {
				read_varint(&field.bytes);
				row->frame_count++;
			}
		for (int i = 0; field.number == 2 && i < 4; i++)
			row->values[i] = (int64_t)read_varint(&field.bytes);
		while (field.number == 3 && read_field(&field.bytes, &label)) {
			row->labelled = true;
			if (label.number == 3)
				row->block_bytes = label.value;
		}
	}
	assert_false(sample.bad);
}

/* Captures, writes and reads what the profile then says. */
static void
profile(struct fixture *f, uint64_t rate_bytes)
{
	int fd = memfd_create("heap_profile_test", MFD_CLOEXEC);
	struct gzip *gzip = gzip_open(&f->arena, fd);
	struct pprof *pprof;
	struct reader reader;
	struct field field;
	size_t size_bytes = 0;

	assert_int_equal(heap_rows_capture(&f->rows, &f->arena), 0);
	pprof = pprof_open(&f->arena, gzip, f->rows.frame_count);
	heap_profile_write(pprof, &f->rows, "inuse_space", rate_bytes);
	assert_int_equal(pprof_close(pprof), 0);
	assert_int_equal(gzip_close(gzip), 0);
	f->data = read_gzip(fd, &size_bytes);
	assert_non_null(f->data);
	close(fd);
	f->all = (struct reader){ f->data, f->data + size_bytes, false };
	reader = f->all;
	while (read_field(&reader, &field))
		if (field.number == 2)
			read_sample(&f->read[f->read_count++], field.bytes);
	assert_false(reader.bad);
}

static void
count(struct tally *tally, unsigned samples, uint64_t size_bytes)
{
	while (samples-- > 0)
		fake_count(tally, size_bytes, RATE);
}

/*
 * Go's own figures (runtime/pprof's test of 2016), from sums of weights: those
 * of the definition, by libm, and those of the agent.
 */
static void
expect_golden(unsigned samples, uint64_t size_bytes, uint64_t objects,
	      uint64_t bytes)
{
	double weight = (double)sampler_weight(size_bytes, RATE) /
			(1 << SAMPLER_WEIGHT_BITS);
	struct tally tally = { 0 }, own = { 0 };

	count(&tally, samples, size_bytes);
	for (unsigned i = 0; i < samples; i++) {
		own.weighted_objects +=
			(uint64_t)(weight * (1 << TALLY_OBJECT_BITS) + 0.5);
		own.weighted_bytes +=
			(uint64_t)(weight * (double)size_bytes *
					   (1 << TALLY_BYTE_BITS) +
				   0.5);
	}
	assert_int_equal(heap_round(tally.weighted_objects, TALLY_OBJECT_BITS,
				    0),
			 objects);
	assert_int_equal(heap_round(tally.weighted_bytes, TALLY_BYTE_BITS, 0),
			 bytes);
	assert_int_equal(heap_round(own.weighted_objects, TALLY_OBJECT_BITS, 0),
			 objects);
	assert_int_equal(heap_round(own.weighted_bytes, TALLY_BYTE_BITS, 0),
			 bytes);
}

static void
test_golden_figures(void **state)
{
	(void)state;
	expect_golden(4, 1024, 2050, 2099200);
	expect_golden(3, 1024, 1537, 1574400);
	expect_golden(1, 524288, 1, 829411);
	expect_golden(0, 1024, 0, 0);
}

static void
test_round(void **state)
{
	(void)state;
	assert_int_equal(heap_round(0, 16, 65535), 0);
	assert_int_equal(heap_round(1, 16, 65534), 0);
	assert_int_equal(heap_round(1, 16, 65535), 1);
	assert_int_equal(heap_round(0x18000, 16, 0x7fff), 1);
	assert_int_equal(heap_round(0x18000, 16, 0x8000), 2);
	/* Whole sums are exact under any draw, and nothing wraps. */
	for (uint64_t draw = 0; draw < 256; draw++)
		assert_int_equal(heap_round(77 << 8, 8, draw), 77);
	assert_true(heap_round(UINT64_MAX, 8, 255) == UINT64_C(1) << 56);
	assert_true(heap_round(UINT64_MAX, 8, 0) == (UINT64_C(1) << 56) - 1);
}

/* Over all draws the mean of what is rounded is the sum itself. */
static void
test_round_is_unbiased(void **state)
{
	(void)state;
	for (uint64_t fixed = 5 << 8; fixed < 7 << 8; fixed++) {
		uint64_t sum = 0;

		for (uint64_t draw = 0; draw < 256; draw++)
			sum += heap_round(fixed, 8, draw);
		assert_int_equal(sum, fixed);
	}
}

static void
test_head(void **state)
{
	static const char *const names[] = { "alloc_objects", "count",
					     "alloc_space",   "bytes",
					     "inuse_objects", "inuse_space",
					     "space" };
	/* Type and unit of each, by index in the names above. */
	static const unsigned char types[][2] = {
		{ 1, 2 }, { 3, 4 }, { 5, 2 }, { 6, 4 }
	};
	struct fixture *f = *state;
	struct field field, inner;
	unsigned type = 0, string = 0;

	profile(f, 4096);
	while (read_field(&f->all, &field)) {
		if (field.number == 1) {
			assert_true(read_field(&field.bytes, &inner));
			assert_int_equal(inner.value, types[type][0]);
			assert_true(read_field(&field.bytes, &inner));
			assert_int_equal(inner.value, types[type][1]);
			type++;
		} else if (field.number == 6 && string++ > 0 && string <= 8) {
			const char *name = names[string - 2];

			assert_int_equal(field.value, strlen(name));
			assert_memory_equal(field.bytes.p, name, field.value);
		} else if (field.number == 11) {
			assert_true(read_field(&field.bytes, &inner));
			assert_int_equal(inner.value, 7);
			assert_true(read_field(&field.bytes, &inner));
			assert_int_equal(inner.value, 4);
		} else if (field.number == 12) {
			assert_int_equal(field.value, 4096);
		} else if (field.number == 14) {
			assert_int_equal(field.value, 6);
		}
	}
	assert_int_equal(type, 4);
	assert_true(string > 8);
	assert_int_equal(f->read_count, 0);
}

static void
test_every_allocation_is_exact(void **state)
{
	struct fixture *f = *state;
	struct bucket *one = fake_bucket(frames, 2, 24);
	struct bucket *two = fake_bucket(frames, 3, UINT64_C(1) << 40);

	for (int i = 0; i < 1000; i++)
		fake_count(&one->allocated, 24, 1);
	for (int i = 0; i < 400; i++)
		fake_count(&one->freed, 24, 1);
	fake_count(&two->allocated, UINT64_C(1) << 40, 1);
	profile(f, 1);
	assert_int_equal(f->read_count, 2);
	assert_int_equal(f->read[0].frame_count, 2);
	assert_int_equal(f->read[0].values[0], 1000);
	assert_int_equal(f->read[0].values[1], 24000);
	assert_int_equal(f->read[0].values[2], 600);
	assert_int_equal(f->read[0].values[3], 14400);
	assert_int_equal(f->read[0].block_bytes, 24);
	assert_int_equal(f->read[1].frame_count, 3);
	assert_int_equal(f->read[1].values[0], 1);
	assert_int_equal(f->read[1].values[1], INT64_C(1) << 40);
	assert_int_equal(f->read[1].values[2], 1);
	assert_int_equal(f->read[1].values[3], INT64_C(1) << 40);
	assert_int_equal(f->read[1].block_bytes, INT64_C(1) << 40);
}

static void
test_all_freed_stays(void **state)
{
	struct fixture *f = *state;
	struct bucket *bucket = fake_bucket(frames, 1, 100);

	/* A bucket whose first sample is still on its way is left out. */
	fake_bucket(frames, 2, 1);
	count(&bucket->allocated, 7, 100);
	count(&bucket->freed, 7, 100);
	profile(f, RATE);
	assert_int_equal(f->read_count, 1);
	assert_true(f->read[0].values[0] > 7);
	assert_true(f->read[0].values[1] > 700);
	assert_int_equal(f->read[0].values[2], 0);
	assert_int_equal(f->read[0].values[3], 0);
	assert_int_equal(f->read[0].block_bytes, 100);
}

/* More freed than allocated: a sample came in while the sums were read. */
static void
test_torn_read_is_no_negative(void **state)
{
	struct fixture *f = *state;
	struct bucket *bucket = fake_bucket(frames, 1, 1);

	count(&bucket->allocated, 1, 100);
	count(&bucket->freed, 2, 100);
	profile(f, RATE);
	assert_true(f->read[0].values[0] > 0);
	assert_int_equal(f->read[0].values[2], 0);
	assert_int_equal(f->read[0].values[3], 0);
}

/* Sums are modulo 2^64: what is in use is right after one of them wrapped. */
static void
test_wrapped_sums(void **state)
{
	struct fixture *f = *state;
	struct bucket *bucket = fake_bucket(frames, 1, 1);

	bucket->allocated.weighted_bytes = 100 << 8;
	bucket->freed.weighted_bytes = (uint64_t) - (200 << 8);
	bucket->allocated.objects = 1;
	profile(f, RATE);
	assert_int_equal(f->read[0].values[3], 300);
}

static void
test_mixed_sizes_share_a_label(void **state)
{
	struct fixture *f = *state;
	struct bucket *bucket = fake_bucket(frames, 1, 100);

	fake_count(&bucket->allocated, 100, 1);
	fake_count(&bucket->allocated, 111, 1);
	profile(f, 1);
	/* The first one's: it does not move, as the mean would. */
	assert_int_equal(f->read[0].block_bytes, 100);
}

static void
test_empty_blocks(void **state)
{
	struct fixture *f = *state;
	struct bucket *bucket = fake_bucket(frames, 1, 0);

	fake_count(&bucket->allocated, 0, 1);
	profile(f, 1);
	assert_int_equal(f->read[0].values[0], 1);
	assert_int_equal(f->read[0].values[1], 0);
	assert_false(f->read[0].labelled);
}

/*
 * Two thousand buckets with a half each: about half of them are rounded up,
 * the same ones in the next dump, and no more is in use than was allocated.
 */
static void
test_dither_of_many_rows(void **state)
{
	struct fixture *f = *state;
	uint64_t frame[1], up = 0;

	for (unsigned i = 0; i < 2000; i++) {
		struct bucket *bucket;

		frame[0] = frame_make(1, 0x1000 + i / 4);
		bucket = fake_bucket(frame, 1, i % 4);
		bucket->allocated.objects = 1;
		bucket->allocated.weighted_objects = 3
						     << (TALLY_OBJECT_BITS - 1);
		bucket->allocated.weighted_bytes = 3 << (TALLY_BYTE_BITS - 1);
	}
	for (unsigned i = 0; i < 2000; i += 50) {
		struct fake_bucket *all = fake_buckets;

		/* Fifty at a time, as the fixture holds. */
		fake_bucket_count = 50;
		fake_buckets = all + i;
		f->read_count = 0;
		memset(f->read, 0, sizeof(f->read));
		profile(f, RATE);
		fake_buckets = all;
		assert_int_equal(f->read_count, 50);
		for (unsigned j = 0; j < 50; j++) {
			assert_in_range(f->read[j].values[0], 1, 2);
			assert_int_equal(f->read[j].values[0],
					 f->read[j].values[2]);
			assert_int_equal(f->read[j].values[1],
					 f->read[j].values[3]);
			up += (uint64_t)f->read[j].values[0] - 1;
		}
		free(f->data);
		f->data = NULL;
		arena_rewind(&f->arena, 0);
	}
	fake_bucket_count = 2000;
	/* Binomial, n = 2000: five standard deviations are 112. */
	assert_in_range(up, 1000 - 112, 1000 + 112);
}

/* No bucket is left out for one that was made during the capture. */
static void
test_buckets_made_meanwhile(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 5000; i++)
		fake_count(&fake_bucket(frames, 3, i)->allocated, 100, 1);
	fake_bucket_count = 200;
	fake_bucket_more = 4800;
	assert_true(heap_rows_arena_bytes() >= 5000 * sizeof(struct heap_row));
	assert_int_equal(heap_rows_capture(&f->rows, &f->arena), 0);
	assert_int_equal(f->rows.count, 5000);
	assert_int_equal(f->rows.frame_count, 15000);
	assert_in_range(f->arena.used_bytes, 5000 * sizeof(struct heap_row),
			5064 * sizeof(struct heap_row));
	for (unsigned i = 0; i < 5000; i++) {
		assert_int_equal(f->rows.rows[i].first_bytes, i);
		assert_int_equal(f->rows.rows[i].allocated.bytes, 100);
	}
}

static void
test_arena_too_small(void **state)
{
	struct fixture *f = *state;
	struct arena small;

	for (unsigned i = 0; i < 100; i++)
		fake_bucket(frames, 3, i);
	assert_int_equal(arena_open(&small, 8000), 0);
	assert_int_equal(heap_rows_capture(&f->rows, &small), -ENOMEM);
	arena_close(&small);
}

int
main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_golden_figures),
		TEST(test_round),
		TEST(test_round_is_unbiased),
		TEST(test_head),
		TEST(test_every_allocation_is_exact),
		TEST(test_all_freed_stays),
		TEST(test_torn_read_is_no_negative),
		TEST(test_wrapped_sums),
		TEST(test_mixed_sizes_share_a_label),
		TEST(test_empty_blocks),
		TEST(test_dither_of_many_rows),
		TEST(test_buckets_made_meanwhile),
		TEST(test_arena_too_small),
	};

	return CHECK_RUN(tests);
}
