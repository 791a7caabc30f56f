/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8_length.h - where characters of UTF-8 end: a profile's strings must be
 * UTF-8, and what the kernel hands out (a thread's name, cut within a letter;
 * an argument, a file's name) need not be.
 */
#ifndef HEAPAGENT_UTF8_LENGTH_H
#define HEAPAGENT_UTF8_LENGTH_H

#include <stddef.h>

/* Bytes of the well-formed UTF-8 character at text (RFC 3629), or 0. [any] */
static inline size_t
utf8_length(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	size_t bytes = c[0] < 0x80    ? 1
		       : c[0] < 0xc2  ? 0
		       : c[0] < 0xe0  ? 2
		       : c[0] < 0xf0  ? 3
		       : c[0] <= 0xf4 ? 4
				      : 0;

	/* A text's end is no continuation, so nothing behind it is read. */
	for (size_t i = 1; i < bytes; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
	    (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
		return 0;
	return bytes;
}

#endif
