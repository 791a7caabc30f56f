/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - the protobuf wire format: varints, tags and lengths, streamed.
 *
 *	buffer | finished messages ... | message being built [ nested ] |
 *
 * A message is built in one small buffer, because its length stands in front
 * of it; finished ones go to gzip many at a time. So no message may be larger
 * than WIRE_MESSAGE_MAX: the first that is becomes the stream's error, and
 * nothing is written from then on. For one thread at a time.
 * Source: protobuf.dev/programming-guides/encoding.
 */
#ifndef HEAPAGENT_WIRE_H
#define HEAPAGENT_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "compiler.h"
#include "gzip.h"

#define WIRE_BUFFER_BYTES 16384
#define WIRE_MESSAGE_MAX (WIRE_BUFFER_BYTES / 2)
/* 64 bits in groups of seven. */
#define WIRE_VARINT_MAX 10

struct wire {
	struct gzip *out;
	unsigned char *buffer; /* WIRE_BUFFER_BYTES of the caller's */
	size_t used_bytes;
	unsigned depth; /* messages begun and not ended */
	int error;	/* 0, or the first, as a negative errno */
};

/* Begins a stream to out in the caller's buffer. [dump] */
void wire_open(struct wire *wire, struct gzip *out, unsigned char *buffer);
/* Hands all finished messages to gzip: 0, or the stream's error. [dump] */
int wire_flush(struct wire *wire);

/* Makes room for one tag and one varint, or sets the error. [dump] */
void wire_make_room(struct wire *wire);

/* A value without a tag, as in a packed field. [dump] */
static inline void
wire_varint(struct wire *wire, uint64_t value)
{
	unsigned char *p;

	if (unlikely(WIRE_BUFFER_BYTES - wire->used_bytes <
		     2 * WIRE_VARINT_MAX))
		wire_make_room(wire);
	p = wire->buffer + wire->used_bytes;
	while (value >= 0x80) {
		*p++ = (unsigned char)(value | 0x80);
		value >>= 7;
	}
	*p++ = (unsigned char)value;
	wire->used_bytes = (size_t)(p - wire->buffer);
}

/* A number field; left out if 0, which is what a reader assumes. [dump] */
void wire_number(struct wire *wire, unsigned field, uint64_t value);
/*
 * A string of any length; not within a message. proto3's are UTF-8, and strict
 * readers refuse a whole file for one byte that is not: '?' stands in for it.
 * [dump]
 */
void wire_text(struct wire *wire, unsigned field, const char *text,
	       size_t size_bytes);

/*
 * A message or a packed field: all that is written between the two is its
 * content, ten of them inside each other at most. wire_begin() returns what
 * wire_end() wants. [dump]
 */
size_t wire_begin(struct wire *wire, unsigned field);
void wire_end(struct wire *wire, size_t start);

#endif
