/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - a stream of plain text into a file.
 *
 * Numbers and strings go into one buffer in the arena, and from there to the
 * descriptor. The first error is kept; what is written after it is thrown
 * away. For one thread at a time.
 */
#ifndef HEAPAGENT_TEXT_H
#define HEAPAGENT_TEXT_H

#include <stdint.h>

#include "arena.h"

struct text; /* in the arena; see text.c */

/* What text_open() takes from an arena, at most. */
#define TEXT_ARENA_BYTES ((size_t)72 << 10)

/*
 * Begins a stream into the descriptor, which stays the caller's. NULL if the
 * arena is too small. [dump]
 */
struct text *text_open(struct arena *arena, int fd);
/* Writes what is left: 0, or the first error as a negative errno. [dump] */
int text_close(struct text *text);

void text_put(struct text *text, const char *string);
/* The same without control characters, which would end a line: each is '_'. */
void text_put_clean(struct text *text, const char *string);
/* In double quotes: a quote or backslash after a backslash, a control character
 * as \xHH. */
void text_put_quoted(struct text *text, const char *string);
/* In decimal. */
void text_number(struct text *text, uint64_t number);
/* In hexadecimal, padded with zeros to so many digits, without "0x". */
void text_hex(struct text *text, uint64_t number, unsigned digits);

#endif
