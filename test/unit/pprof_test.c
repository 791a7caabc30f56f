/* SPDX-License-Identifier: Apache-2.0 */
/* pprof_test.c - the fields of a profile, as an independent reader sees them.
 */
/* LINK: pprof wire gzip arena sys */
/* LIBS: -l:libz.a */
#include "pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "fake_modules.h"
#include "frame.h"
#include "wire_reader.h"

#define BIAS_EXE UINT64_C(0x555555554000)
#define BIAS_LIBRARY UINT64_C(0x7ffff7000000)
#define FIELDS_MAX 4096

static const struct pprof_value_type space_bytes = { "space", "bytes" };

struct fixture {
	struct arena arena;
	struct gzip *gzip;
	struct pprof *pprof;
	int fd;
	unsigned char *data;
	struct reader all;
	/* By index; what was read back. */
	char *strings[FIELDS_MAX];
	unsigned string_count;
	struct reader locations[FIELDS_MAX], mappings[FIELDS_MAX],
		samples[FIELDS_MAX];
	unsigned location_count, mapping_count, sample_count;
};

static int
set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fake_module_count = 1;
	fake_module("/usr/bin/program", BIAS_EXE);
	fake_module("/usr/lib/libone.so.1", BIAS_LIBRARY);
	/* Loaded after libone.so.1 was closed, at the same place. */
	fake_module("/usr/lib/libtwo.so.2", BIAS_LIBRARY);
	f->fd = memfd_create("pprof_test", MFD_CLOEXEC);
	if (arena_open(&f->arena,
		       GZIP_ARENA_BYTES + pprof_arena_bytes(1 << 16)) != 0)
		return -1;
	f->gzip = gzip_open(&f->arena, f->fd);
	f->pprof = pprof_open(&f->arena, f->gzip, 1 << 16);
	*state = f;
	return f->pprof == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < f->string_count; i++)
		free(f->strings[i]);
	free(f->data);
	arena_close(&f->arena);
	close(f->fd);
	free(f);
	return 0;
}

/* Ends the profile and sorts its fields. */
static void
read_back(struct fixture *f)
{
	struct reader reader;
	struct field field;
	size_t size_bytes = 0;

	assert_int_equal(pprof_close(f->pprof), 0);
	assert_int_equal(gzip_close(f->gzip), 0);
	f->data = read_gzip(f->fd, &size_bytes);
	assert_non_null(f->data);
	f->all = (struct reader){ f->data, f->data + size_bytes, false };
	reader = f->all;
	while (read_field(&reader, &field)) {
		size_t length = (size_t)(field.bytes.end - field.bytes.p);

		if (field.number == 2)
			f->samples[f->sample_count++] = field.bytes;
		else if (field.number == 3)
			f->mappings[f->mapping_count++] = field.bytes;
		else if (field.number == 4)
			f->locations[f->location_count++] = field.bytes;
		else if (field.number == 6)
			f->strings[f->string_count++] =
				strndup((const char *)field.bytes.p, length);
	}
	assert_false(reader.bad);
}

/* The nth occurrence of a field in a message; false if there is none. */
static bool
nth(struct reader message, unsigned number, unsigned n, struct field *field)
{
	while (read_field(&message, field))
		if (field->number == number && n-- == 0)
			return true;
	assert_false(message.bad);
	memset(field, 0, sizeof(*field));
	return false;
}

static uint64_t
number_of(struct reader message, unsigned number)
{
	struct field field;

	return nth(message, number, 0, &field) ? field.value : 0;
}

static const char *
text_of(struct fixture *f, struct reader message, unsigned number)
{
	uint64_t index = number_of(message, number);

	assert_true(index < f->string_count);
	return f->strings[index];
}

/* The ith location of a sample; every id is its location's place plus one. */
static struct reader
location_of(struct fixture *f, unsigned sample, unsigned i)
{
	struct field packed;
	uint64_t id = 0;

	assert_true(nth(f->samples[sample], 1, 0, &packed));
	for (unsigned n = 0; n <= i; n++)
		id = read_varint(&packed.bytes);
	assert_in_range(id, 1, f->location_count);
	assert_int_equal(number_of(f->locations[id - 1], 1), id);
	return f->locations[id - 1];
}

/* The mapping of a location, likewise. */
static struct reader
mapping_of(struct fixture *f, struct reader location)
{
	uint64_t id = number_of(location, 2);

	assert_in_range(id, 1, f->mapping_count);
	assert_int_equal(number_of(f->mappings[id - 1], 1), id);
	return f->mappings[id - 1];
}

static void
expect_value_type(struct fixture *f, struct reader message, const char *type,
		  const char *unit)
{
	assert_string_equal(text_of(f, message, 1), type);
	assert_string_equal(text_of(f, message, 2), unit);
}

static void
test_head(void **state)
{
	struct fixture *f = *state;
	struct field field;
	char comment[] = "first comment";

	pprof_sample_type(f->pprof, (struct pprof_value_type){ "a", "count" });
	pprof_sample_type(f->pprof, space_bytes);
	pprof_default_sample_type(f->pprof, "space");
	pprof_period(f->pprof, space_bytes, 524288);
	pprof_time(f->pprof, 1700000000123456789);
	pprof_comment(f->pprof, comment);
	comment[0] = 'X'; /* It was copied. */
	pprof_comment(f->pprof, "second comment");
	pprof_comment(f->pprof, "first comment");
	read_back(f);

	assert_string_equal(f->strings[0], "");
	assert_true(nth(f->all, 1, 0, &field));
	expect_value_type(f, field.bytes, "a", "count");
	assert_true(nth(f->all, 1, 1, &field));
	expect_value_type(f, field.bytes, "space", "bytes");
	assert_false(nth(f->all, 1, 2, &field));
	assert_string_equal(text_of(f, f->all, 14), "space");
	assert_true(nth(f->all, 11, 0, &field));
	expect_value_type(f, field.bytes, "space", "bytes");
	assert_int_equal(number_of(f->all, 12), 524288);
	assert_int_equal(number_of(f->all, 9), 1700000000123456789);
	assert_false(nth(f->all, 10, 0, &field)); /* no duration */
	for (unsigned i = 0; i < 3; i++) {
		assert_true(nth(f->all, 13, i, &field));
		assert_string_equal(f->strings[field.value],
				    i == 1 ? "second comment"
					   : "first comment");
	}
	/* "", a, count, space, bytes, two comments, and mapping 1's two. */
	assert_int_equal(f->string_count, 9);
}

static void
test_string_table_is_last(void **state)
{
	struct fixture *f = *state;
	struct reader reader;
	struct field field;
	const uint64_t frame = frame_make(1, 0x1100);
	const int64_t value = 1;
	bool strings = false;

	pprof_sample_type(f->pprof, space_bytes);
	pprof_sample(f->pprof, &frame, 1, &value, 1, NULL, 0);
	read_back(f);
	reader = f->all;
	while (read_field(&reader, &field)) {
		assert_true(!strings || field.number == 6);
		strings = field.number == 6;
	}
	assert_true(strings);
}

static void
test_sample(void **state)
{
	struct fixture *f = *state;
	const uint64_t frames[] = { frame_make(2, 0x1200),
				    frame_make(1, 0x1100),
				    frame_make(2, 0x1200) };
	const int64_t values[] = { 0, INT64_MAX, -1, 300 };
	const struct pprof_label labels[] = {
		{ .key = "bytes", .number = 1024, .unit = "bytes" },
		{ .key = "thread", .text = "worker" },
		{ .key = "plain", .number = -7 },
	};
	struct field field;
	struct reader location;

	pprof_sample(f->pprof, frames, 3, values, 4, labels, 3);
	read_back(f);
	assert_int_equal(f->sample_count, 1);
	assert_int_equal(f->location_count, 2);
	assert_true(nth(f->samples[0], 1, 0, &field));
	assert_memory_equal(field.bytes.p, "\1\2\1", 3);
	location = location_of(f, 0, 0);
	assert_true(number_of(location, 3) == BIAS_LIBRARY + 0x1200);
	assert_string_equal(text_of(f, mapping_of(f, location), 5),
			    "/usr/lib/libone.so.1");
	location = location_of(f, 0, 1);
	assert_true(number_of(location, 3) == BIAS_EXE + 0x1100);
	assert_string_equal(text_of(f, mapping_of(f, location), 5),
			    "/usr/bin/program");

	assert_true(nth(f->samples[0], 2, 0, &field));
	for (unsigned i = 0; i < 4; i++)
		assert_true((int64_t)read_varint(&field.bytes) == values[i]);
	assert_ptr_equal(field.bytes.p, field.bytes.end);

	assert_true(nth(f->samples[0], 3, 0, &field));
	assert_string_equal(text_of(f, field.bytes, 1), "bytes");
	assert_int_equal(number_of(field.bytes, 3), 1024);
	assert_string_equal(text_of(f, field.bytes, 4), "bytes");
	assert_int_equal(number_of(field.bytes, 2), 0);
	assert_true(nth(f->samples[0], 3, 1, &field));
	assert_string_equal(text_of(f, field.bytes, 1), "thread");
	assert_string_equal(text_of(f, field.bytes, 2), "worker");
	assert_true(nth(f->samples[0], 3, 2, &field));
	assert_true((int64_t)number_of(field.bytes, 3) == -7);
	assert_int_equal(number_of(field.bytes, 4), 0);
}

static void
test_mapping_fields(void **state)
{
	struct fixture *f = *state;
	const uint64_t frame = frame_make(2, 0x1200);
	const int64_t value = 1;
	struct reader mapping;

	pprof_sample(f->pprof, &frame, 1, &value, 1, NULL, 0);
	read_back(f);
	/* The executable comes first, though no frame lies in it. */
	assert_int_equal(f->mapping_count, 2);
	assert_int_equal(number_of(f->mappings[0], 1), 1);
	assert_string_equal(text_of(f, f->mappings[0], 5), "/usr/bin/program");
	mapping = f->mappings[1];
	assert_int_equal(number_of(mapping, 1), 2);
	assert_true(number_of(mapping, 2) == BIAS_LIBRARY + 0x1000);
	assert_true(number_of(mapping, 3) == BIAS_LIBRARY + 0x11000);
	assert_int_equal(number_of(mapping, 4), 0x1000);
	assert_string_equal(text_of(f, mapping, 6),
			    "202122232425262728292a2b2c2d2e2f30313233");
	assert_int_equal(number_of(mapping, 7), 0);
}

static void
test_no_build_id(void **state)
{
	struct fixture *f = *state;

	fake_modules[1].build_id_bytes = 0;
	read_back(f);
	assert_int_equal(f->mapping_count, 1);
	assert_string_equal(text_of(f, f->mappings[0], 6), "");
}

/* One address, two libraries that were there one after the other. */
static void
test_libraries_at_one_address(void **state)
{
	struct fixture *f = *state;
	const uint64_t frames[] = { frame_make(2, 0x1200),
				    frame_make(3, 0x1200) };
	const int64_t value = 1;
	struct reader one, two;

	pprof_sample(f->pprof, &frames[0], 1, &value, 1, NULL, 0);
	pprof_sample(f->pprof, &frames[1], 1, &value, 1, NULL, 0);
	read_back(f);
	one = location_of(f, 0, 0);
	two = location_of(f, 1, 0);
	assert_true(number_of(one, 3) == number_of(two, 3));
	assert_string_equal(text_of(f, mapping_of(f, one), 5),
			    "/usr/lib/libone.so.1");
	assert_string_equal(text_of(f, mapping_of(f, two), 5),
			    "/usr/lib/libtwo.so.2");
}

static void
test_frames_of_no_module(void **state)
{
	struct fixture *f = *state;
	const uint64_t frames[] = { frame_make(0, 0x7f0000003123),
				    frame_make(0, 0x7f0000001fff),
				    /* Numbers that no module has. */
				    frame_make(9, 0x7f0000002000),
				    frame_make(0xffff, 0x7f0000002001) };
	const int64_t value = 1;
	struct reader mapping;

	pprof_sample(f->pprof, frames, 3, &value, 1, NULL, 0);
	/* The count runs on when the table is full. */
	fake_module_count = UINT16_MAX + 1;
	pprof_sample(f->pprof, frames, 4, &value, 1, NULL, 0);
	read_back(f);
	assert_int_equal(f->mapping_count, 2);
	for (unsigned i = 0; i < 4; i++) {
		mapping = mapping_of(f, location_of(f, 1, i));
		assert_string_equal(text_of(f, mapping, 5), "[anon]");
		assert_true(number_of(location_of(f, 1, i), 3) ==
			    frame_offset(frames[i]));
	}
	assert_true(number_of(mapping, 2) == 0x7f0000001000);
	assert_true(number_of(mapping, 3) == 0x7f0000004000);
}

/* Linked for a higher address than it was loaded at, as old vDSOs are. */
static void
test_negative_bias(void **state)
{
	struct fixture *f = *state;
	const uint64_t vaddr = 0xffffffffff700000;
	const uint64_t address = 0x7fff12340000;
	const uint64_t frame = frame_make(2, vaddr + 0x123);
	const int64_t value = 1;
	struct reader location;

	fake_modules[2].bias = address - vaddr;
	fake_modules[2].text_start = vaddr;
	fake_modules[2].text_end = vaddr + 0x1000;
	pprof_sample(f->pprof, &frame, 1, &value, 1, NULL, 0);
	read_back(f);
	location = location_of(f, 0, 0);
	assert_true(number_of(location, 3) == address + 0x123);
	assert_true(number_of(mapping_of(f, location), 2) == address);
	assert_true(number_of(mapping_of(f, location), 3) == address + 0x1000);
}

static void
test_truncated_stack(void **state)
{
	struct fixture *f = *state;
	const uint64_t frames[] = { frame_make(1, 0x1100), FRAME_TRUNCATED };
	const uint64_t other = FRAME_UNCERTAIN;
	const int64_t value = 1;
	struct reader location, mapping;
	struct field line, function;

	pprof_sample(f->pprof, frames, 2, &value, 1, NULL, 0);
	pprof_sample(f->pprof, frames, 2, &value, 1, NULL, 0);
	pprof_sample(f->pprof, &other, 1, &value, 1, NULL, 0);
	read_back(f);
	location = location_of(f, 1, 1);
	assert_int_equal(number_of(location, 3), 0);
	assert_true(nth(location, 4, 0, &line));
	assert_true(nth(f->all, 5, 0, &function));
	assert_int_equal(number_of(line.bytes, 1), 1);
	assert_int_equal(number_of(function.bytes, 1), 1);
	assert_string_equal(text_of(f, function.bytes, 2), "[truncated]");
	assert_true(nth(f->all, 5, 1, &function));
	assert_string_equal(text_of(f, function.bytes, 2), "[uncertain]");
	mapping = mapping_of(f, location);
	assert_string_equal(text_of(f, mapping, 5), "[heapagent]");
	assert_int_equal(number_of(mapping, 7), 1);
}

static void
test_no_executable_known(void **state)
{
	struct fixture *f = *state;
	const uint64_t frame = frame_make(0, 0x1234);
	const int64_t value = 1;

	fake_module_count = 1;
	pprof_sample(f->pprof, &frame, 1, &value, 1, NULL, 0);
	read_back(f);
	assert_int_equal(f->mapping_count, 1);
	assert_string_equal(text_of(f, f->mappings[0], 5), "[anon]");
	assert_int_equal(number_of(f->mappings[0], 1),
			 number_of(location_of(f, 0, 0), 2));
}

static void
test_deepest_stack(void **state)
{
	struct fixture *f = *state;
	uint64_t frames[PPROF_FRAMES_MAX + 1];
	const int64_t values[] = { -1, -1, -1, -1 };
	struct reader location;

	for (unsigned i = 0; i <= PPROF_FRAMES_MAX; i++)
		frames[i] = frame_make(2, 0x1000 + i);
	/* Few distinct ids first, so that the deep sample's are long ones. */
	for (unsigned i = 0; i < 3000; i++) {
		const uint64_t frame = frame_make(1, i);

		pprof_sample(f->pprof, &frame, 1, values, 4, NULL, 0);
	}
	pprof_sample(f->pprof, frames, PPROF_FRAMES_MAX, values, 4, NULL, 0);
	read_back(f);
	assert_int_equal(f->location_count, 3000 + PPROF_FRAMES_MAX);
	for (unsigned i = 0; i < PPROF_FRAMES_MAX; i++) {
		location = location_of(f, 3000, i);
		assert_true(number_of(location, 3) ==
			    BIAS_LIBRARY + 0x1000 + i);
	}
}

static void
test_too_deep_stack(void **state)
{
	struct fixture *f = *state;
	uint64_t frames[PPROF_FRAMES_MAX + 1] = { 0 };
	const int64_t value = 1;

	pprof_sample(f->pprof, frames, PPROF_FRAMES_MAX + 1, &value, 1, NULL,
		     0);
	assert_int_equal(pprof_close(f->pprof), -E2BIG);
}

static void
test_no_frames_no_values(void **state)
{
	struct fixture *f = *state;
	struct field field;

	pprof_sample(f->pprof, NULL, 0, NULL, 0, NULL, 0);
	read_back(f);
	assert_int_equal(f->sample_count, 1);
	assert_true(nth(f->samples[0], 1, 0, &field));
	assert_ptr_equal(field.bytes.p, field.bytes.end);
}

int
main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_head),
		TEST(test_string_table_is_last),
		TEST(test_sample),
		TEST(test_mapping_fields),
		TEST(test_no_build_id),
		TEST(test_libraries_at_one_address),
		TEST(test_frames_of_no_module),
		TEST(test_negative_bias),
		TEST(test_truncated_stack),
		TEST(test_no_executable_known),
		TEST(test_deepest_stack),
		TEST(test_too_deep_stack),
		TEST(test_no_frames_no_values),
	};

	return CHECK_RUN(tests);
}
