/* SPDX-License-Identifier: Apache-2.0 */
/* wire_test.c - the wire format, byte for byte and read back. */
/* LINK: wire gzip arena sys */
/* LIBS: -l:libz.a */
#include "wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "wire_reader.h"

struct fixture {
	struct wire wire;
	struct arena arena;
	struct gzip *gzip;
	int fd;
	/* The wire buffer between two guards. */
	unsigned char memory[64 + WIRE_BUFFER_BYTES + 64];
	unsigned char *data; /* what was read back */
	struct reader reader;
};

static int
set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->fd = memfd_create("wire_test", MFD_CLOEXEC);
	if (f->fd < 0 || arena_open(&f->arena, GZIP_ARENA_BYTES) != 0)
		return -1;
	f->gzip = gzip_open(&f->arena, f->fd);
	memset(f->memory, 0xa5, sizeof(f->memory));
	wire_open(&f->wire, f->gzip, f->memory + 64);
	*state = f;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 64; i++) {
		assert_int_equal(f->memory[i], 0xa5);
		assert_int_equal(f->memory[64 + WIRE_BUFFER_BYTES + i], 0xa5);
	}
	free(f->data);
	arena_close(&f->arena);
	close(f->fd);
	free(f);
	return 0;
}

/* Ends the stream and begins to read it. */
static void
read_back(struct fixture *f)
{
	size_t size_bytes = 0;

	assert_int_equal(wire_flush(&f->wire), 0);
	assert_int_equal(gzip_close(f->gzip), 0);
	f->data = read_gzip(f->fd, &size_bytes);
	assert_non_null(f->data);
	f->reader = (struct reader){ f->data, f->data + size_bytes, false };
}

static void
expect_bytes(void **state, const char *expected, size_t size_bytes)
{
	struct fixture *f = *state;

	read_back(f);
	assert_int_equal(f->reader.end - f->reader.p, size_bytes);
	assert_memory_equal(f->reader.p, expected, size_bytes);
}

/* The examples of protobuf.dev/programming-guides/encoding. */
static void
test_specified_examples(void **state)
{
	struct fixture *f = *state;
	size_t start;

	wire_number(&f->wire, 1, 150);
	wire_text(&f->wire, 2, "testing", 7);
	start = wire_begin(&f->wire, 3);
	wire_number(&f->wire, 1, 150);
	wire_end(&f->wire, start);
	start = wire_begin(&f->wire, 6);
	wire_varint(&f->wire, 3);
	wire_varint(&f->wire, 270);
	wire_varint(&f->wire, 86942);
	wire_end(&f->wire, start);
	expect_bytes(state,
		     "\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01"
		     "\x32\x06\x03\x8e\x02\x9e\xa7\x05",
		     25);
}

static void
test_zero_is_left_out(void **state)
{
	struct fixture *f = *state;
	size_t start;

	wire_number(&f->wire, 1, 0);
	start = wire_begin(&f->wire, 2);
	wire_end(&f->wire, start);
	expect_bytes(state, "\x12\x00", 2);
}

static void
test_varint_boundaries(void **state)
{
	struct fixture *f = *state;
	struct field field;

	for (unsigned bit = 0; bit < 64; bit++) {
		wire_number(&f->wire, bit + 1, (UINT64_C(1) << bit) - 1);
		wire_number(&f->wire, bit + 1, UINT64_C(1) << bit);
	}
	wire_number(&f->wire, 536870911, UINT64_MAX);
	read_back(f);
	for (unsigned bit = 0; bit < 64; bit++) {
		if (bit > 0) {
			assert_true(read_field(&f->reader, &field));
			assert_int_equal(field.number, bit + 1);
			assert_true(field.value == (UINT64_C(1) << bit) - 1);
		}
		assert_true(read_field(&f->reader, &field));
		assert_int_equal(field.number, bit + 1);
		assert_true(field.value == UINT64_C(1) << bit);
	}
	assert_true(read_field(&f->reader, &field));
	assert_int_equal(field.number, 536870911);
	assert_true(field.value == UINT64_MAX);
	assert_false(read_field(&f->reader, &field));
	assert_false(f->reader.bad);
}

/* Every length around those where the length itself grows by a byte. */
static void
test_nested_lengths(void **state)
{
	struct fixture *f = *state;
	struct field outer, inner;

	for (unsigned length = 0; length < 300; length++) {
		size_t start = wire_begin(&f->wire, 1);
		size_t nested = wire_begin(&f->wire, 2);

		for (unsigned i = 0; i < length; i++)
			wire_varint(&f->wire, i & 127);
		wire_end(&f->wire, nested);
		wire_number(&f->wire, 3, length + 1);
		wire_end(&f->wire, start);
	}
	read_back(f);
	for (unsigned length = 0; length < 300; length++) {
		assert_true(read_field(&f->reader, &outer));
		assert_true(read_field(&outer.bytes, &inner));
		assert_int_equal(inner.number, 2);
		assert_int_equal(inner.bytes.end - inner.bytes.p, length);
		for (unsigned i = 0; i < length; i++)
			assert_int_equal(inner.bytes.p[i], i & 127);
		assert_true(read_field(&outer.bytes, &inner));
		assert_int_equal(inner.value, length + 1);
		assert_false(read_field(&outer.bytes, &inner));
	}
	assert_false(read_field(&f->reader, &outer));
	assert_false(f->reader.bad);
}

/* Random messages, far more than one buffer of them, and all come back. */
static void
test_random_stream(void **state)
{
	struct fixture *f = *state;
	struct field outer, inner;

	srandom(1);
	for (unsigned i = 0; i < 20000; i++) {
		unsigned count = (unsigned)random() % 40;
		size_t start = wire_begin(&f->wire, 1 + i % 20);

		for (unsigned j = 0; j < count; j++)
			wire_number(&f->wire, 1 + j,
				    1 + ((uint64_t)random() >> random() % 31));
		wire_end(&f->wire, start);
	}
	read_back(f);
	srandom(1);
	for (unsigned i = 0; i < 20000; i++) {
		unsigned count = (unsigned)random() % 40;

		assert_true(read_field(&f->reader, &outer));
		assert_int_equal(outer.number, 1 + i % 20);
		for (unsigned j = 0; j < count; j++) {
			assert_true(read_field(&outer.bytes, &inner));
			assert_int_equal(inner.number, 1 + j);
			assert_true(inner.value ==
				    1 + ((uint64_t)random() >> random() % 31));
		}
		assert_false(read_field(&outer.bytes, &inner));
	}
	assert_false(read_field(&f->reader, &outer));
	assert_false(f->reader.bad);
}

static void
test_bytes_of_any_length(void **state)
{
	struct fixture *f = *state;
	const size_t lengths[] = { 0,	  1,	 127,	 128,	4095, 16383,
				   16384, 16385, 100000, 16368, 1 };
	char *data = malloc(100000);
	struct field field;

	memset(data, 'x', 100000);
	for (unsigned i = 0; i < ARRAY_SIZE(lengths); i++)
		wire_text(&f->wire, i + 1, data, lengths[i]);
	read_back(f);
	for (unsigned i = 0; i < ARRAY_SIZE(lengths); i++) {
		assert_true(read_field(&f->reader, &field));
		assert_int_equal(field.number, i + 1);
		assert_int_equal(field.value, lengths[i]);
		assert_memory_equal(field.bytes.p, data, lengths[i]);
	}
	assert_false(read_field(&f->reader, &field));
	assert_false(f->reader.bad);
	free(data);
}

/* A letter cut off at its end, one of Latin-1, an overlong and a surrogate. */
static void
test_text_is_utf8(void **state)
{
	static const char text[] = "\xd0\xbe|\xd0|\xe9t\xe9|\xc0\xaf|"
				   "\xed\xa0\x80|\xf0\x9f\x99\x82\xd1";
	struct fixture *f = *state;

	wire_text(&f->wire, 1, text, sizeof(text) - 1);
	expect_bytes(state,
		     "\x0a\x15\xd0\xbe|?|?t?|?\?|\?\??|"
		     "\xf0\x9f\x99\x82?",
		     2 + 21);
}

/* A message of WIRE_MESSAGE_MAX bytes fits wherever the buffer stands. */
static void
test_largest_message_fits(void **state)
{
	struct fixture *f = *state;
	struct field outer;

	for (unsigned i = 0; i < 200; i++) {
		size_t start;

		for (unsigned j = 0; j < i * 11; j++)
			wire_number(&f->wire, 2, 1 + j);
		start = wire_begin(&f->wire, 1);
		for (unsigned j = 0; j < WIRE_MESSAGE_MAX - 32; j++)
			wire_varint(&f->wire, 7);
		wire_end(&f->wire, start);
	}
	read_back(f);
	for (unsigned i = 0; i < 200; i++) {
		for (unsigned j = 0; j < i * 11; j++)
			assert_true(read_field(&f->reader, &outer));
		assert_true(read_field(&f->reader, &outer));
		assert_int_equal(outer.value, WIRE_MESSAGE_MAX - 32);
	}
	assert_false(read_field(&f->reader, &outer));
	assert_false(f->reader.bad);
}

/* Too large a message at every fill and depth: an error, and no overrun. */
static void
test_too_large_message(void **state)
{
	struct fixture *f = *state;

	for (unsigned fill = 0; fill < 64; fill++) {
		size_t start, nested;

		wire_open(&f->wire, f->gzip, f->memory + 64);
		for (unsigned i = 0; i < fill; i++)
			wire_varint(&f->wire, 1);
		start = wire_begin(&f->wire, 1);
		nested = wire_begin(&f->wire, 1);
		for (unsigned i = 0; i < 3 * WIRE_BUFFER_BYTES; i++)
			wire_varint(&f->wire, UINT64_MAX);
		wire_end(&f->wire, nested);
		wire_number(&f->wire, 1, UINT64_MAX);
		wire_end(&f->wire, start);
		wire_number(&f->wire, 1, UINT64_MAX);
		assert_int_equal(wire_flush(&f->wire), -EMSGSIZE);
		/* The error stays. */
		wire_text(&f->wire, 1, "x", 1);
		assert_int_equal(wire_flush(&f->wire), -EMSGSIZE);
	}
	wire_open(&f->wire, f->gzip, f->memory + 64);
	expect_bytes(state, "", 0);
}

/* Ends a message when one to thirty bytes of the buffer are left. */
static void
test_length_grows_at_the_end(void **state)
{
	struct fixture *f = *state;

	for (unsigned left = 0; left < 64; left++) {
		size_t start;

		wire_open(&f->wire, f->gzip, f->memory + 64);
		start = wire_begin(&f->wire, 1);
		while (f->wire.used_bytes < WIRE_BUFFER_BYTES - left &&
		       f->wire.error == 0)
			wire_varint(&f->wire, 1);
		wire_end(&f->wire, start);
		assert_int_equal(wire_flush(&f->wire),
				 left < 2 * WIRE_VARINT_MAX - 1 ? -EMSGSIZE
								: 0);
	}
}

int
main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_specified_examples),
		TEST(test_zero_is_left_out),
		TEST(test_varint_boundaries),
		TEST(test_nested_lengths),
		TEST(test_random_stream),
		TEST(test_bytes_of_any_length),
		TEST(test_text_is_utf8),
		TEST(test_largest_message_fits),
		TEST(test_too_large_message),
		TEST(test_length_grows_at_the_end),
	};

	return CHECK_RUN(tests);
}
