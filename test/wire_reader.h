/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_reader.h - reads protobuf fields one by one, for tests: written against
 * the encoding's specification, not against agent/wire.c.
 */
#ifndef HEAPAGENT_TEST_WIRE_READER_H
#define HEAPAGENT_TEST_WIRE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

struct reader {
	const unsigned char *p;
	const unsigned char *end;
	bool bad;
};

struct field {
	unsigned number;
	unsigned type;
	uint64_t value;	     /* of a varint */
	struct reader bytes; /* of a length-delimited field */
};

static inline uint64_t
read_varint(struct reader *reader)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		unsigned char byte;

		if (reader->p == reader->end)
			break;
		byte = *reader->p++;
		/* The tenth byte holds one bit. */
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	reader->bad = true;
	return 0;
}

/* False at the end and at the first thing that is no field (reader->bad). */
static inline bool
read_field(struct reader *reader, struct field *field)
{
	uint64_t tag;

	memset(field, 0, sizeof(*field));
	if (reader->bad || reader->p == reader->end)
		return false;
	tag = read_varint(reader);
	field->number = (unsigned)(tag >> 3);
	field->type = (unsigned)(tag & 7);
	if (field->number == 0 || (field->type != 0 && field->type != 2))
		reader->bad = true;
	field->value = read_varint(reader);
	if (field->type == 2) {
		if (field->value > (uint64_t)(reader->end - reader->p))
			reader->bad = true;
		if (reader->bad)
			return false;
		field->bytes.p = reader->p;
		reader->p += field->value;
		field->bytes.end = reader->p;
	}
	return !reader->bad;
}

/* All of a gzip file that stands at its start, by zlib; *size or NULL. */
static inline unsigned char *
read_gzip(int fd, size_t *size_bytes)
{
	size_t capacity = 64 << 20;
	unsigned char *data = malloc(capacity);
	gzFile gz;
	int n;

	lseek(fd, 0, SEEK_SET);
	gz = gzdopen(dup(fd), "rb");
	n = gzread(gz, data, (unsigned)capacity);
	/* gzdopen reads plain files as well: those are no success. */
	if (n < 0 || gzdirect(gz) || gzclose(gz) != Z_OK) {
		free(data);
		return NULL;
	}
	*size_bytes = (size_t)n;
	return data;
}

#endif
