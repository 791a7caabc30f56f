/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.c - the protobuf wire format; see wire.h.
 *
 * Most messages are shorter than 128 bytes, so one byte is kept free for the
 * length, and only the content of a longer one is moved up.
 */
#include "wire.h"

#include <errno.h>
#include <string.h>

#include "utf8_length.h"

enum wire_type { WIRE_VARINT = 0, WIRE_LENGTH = 2 };

_Static_assert(WIRE_MESSAGE_MAX >= 128 * WIRE_VARINT_MAX,
	       "a message of several hundred numbers must fit");
_Static_assert(WIRE_BUFFER_BYTES <= 1 << 14,
	       "the length of what fits the buffer takes two bytes at most");

void
wire_open(struct wire *wire, struct gzip *out, unsigned char *buffer)
{
	*wire = (struct wire){ .out = out, .buffer = buffer };
}

int
wire_flush(struct wire *wire)
{
	if (wire->error == 0 && wire->used_bytes > 0)
		gzip_write(wire->out, wire->buffer, wire->used_bytes);
	wire->used_bytes = 0;
	return wire->error;
}

void
wire_make_room(struct wire *wire)
{
	if (wire->depth > 0 && wire->error == 0)
		wire->error = -EMSGSIZE;
	/* With an error set this throws away what can no longer be written. */
	(void)wire_flush(wire);
}

static void
put_tag(struct wire *wire, unsigned field, enum wire_type type)
{
	wire_varint(wire, (uint64_t)field << 3 | type);
}

void
wire_number(struct wire *wire, unsigned field, uint64_t value)
{
	if (value == 0)
		return;
	put_tag(wire, field, WIRE_VARINT);
	wire_varint(wire, value);
}

static void
put_bytes(struct wire *wire, const char *data, size_t size_bytes)
{
	if (size_bytes <= WIRE_BUFFER_BYTES - wire->used_bytes) {
		memcpy(wire->buffer + wire->used_bytes, data, size_bytes);
		wire->used_bytes += size_bytes;
		return;
	}
	if (wire_flush(wire) == 0)
		gzip_write(wire->out, data, size_bytes);
}

void
wire_text(struct wire *wire, unsigned field, const char *text,
	  size_t size_bytes)
{
	const char *end = text + size_bytes;

	put_tag(wire, field, WIRE_LENGTH);
	wire_varint(wire, size_bytes);
	while (text < end) {
		const char *good = text;
		size_t bytes;

		while (text < end && (bytes = utf8_length(text)) != 0)
			text += bytes;
		put_bytes(wire, good, (size_t)(text - good));
		if (text < end) {
			put_bytes(wire, "?", 1);
			text++;
		}
	}
}

size_t
wire_begin(struct wire *wire, unsigned field)
{
	/* Every outer message finds WIRE_MESSAGE_MAX bytes free. */
	if (wire->depth == 0 &&
	    wire->used_bytes > WIRE_BUFFER_BYTES - WIRE_MESSAGE_MAX)
		(void)wire_flush(wire);
	wire->depth++;
	put_tag(wire, field, WIRE_LENGTH);
	wire_varint(wire, 0);
	return wire->used_bytes;
}

void
wire_end(struct wire *wire, size_t start)
{
	size_t length;

	wire->depth--;
	/* An overflow has emptied the buffer: start means nothing now. */
	if (wire->error != 0)
		return;
	length = wire->used_bytes - start;
	if (length >= 0x80) {
		/*
		 * Every wire_varint() leaves WIRE_VARINT_MAX bytes free: one
		 * for each of as many messages that end here together.
		 */
		memmove(wire->buffer + start + 1, wire->buffer + start, length);
		wire->used_bytes = start - 1;
		wire_varint(wire, length);
		wire->used_bytes += length;
		return;
	}
	wire->buffer[start - 1] = (unsigned char)length;
}
