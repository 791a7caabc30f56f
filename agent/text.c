/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - characters into a buffer, the buffer into a file; see text.h. */
#include "text.h"

#include "compiler.h"
#include "sys.h"

/* A write of so much costs little more than copying it. */
#define BUFFER_BYTES ((size_t)64 << 10)
/* 64 bits: 20 digits in decimal, 16 in hexadecimal. */
#define DIGITS_MAX 20

struct text {
	int fd;
	int error; /* 0, or the first, as a negative errno */
	size_t used_bytes;
	char buffer[BUFFER_BYTES];
};
_Static_assert(sizeof(struct text) + CACHE_LINE <= TEXT_ARENA_BYTES,
	       "the stream fits in what text.h promises");

struct text *
text_open(struct arena *arena, int fd)
{
	struct text *text = arena_alloc(arena, sizeof(*text));

	if (text != NULL)
		text->fd = fd;
	return text;
}

static void
flush(struct text *text)
{
	if (text->error == 0 && text->used_bytes > 0)
		text->error =
			sys_write_all(text->fd, text->buffer, text->used_bytes);
	text->used_bytes = 0;
}

int
text_close(struct text *text)
{
	flush(text);
	return text->error;
}

static void
put(struct text *text, char c)
{
	if (unlikely(text->used_bytes == BUFFER_BYTES))
		flush(text);
	text->buffer[text->used_bytes++] = c;
}

void
text_put(struct text *text, const char *string)
{
	for (; *string != '\0'; string++)
		put(text, *string);
}

void
text_put_clean(struct text *text, const char *string)
{
	for (; *string != '\0'; string++)
		put(text, (unsigned char)*string < ' ' || *string == 0x7f
				  ? '_'
				  : *string);
}

static void
put_digits(struct text *text, uint64_t number, unsigned base, unsigned least)
{
	char digits[DIGITS_MAX];
	unsigned used = 0;

	do
		digits[used++] = "0123456789abcdef"[number % base];
	while ((number /= base) != 0);
	while (used < least && used < DIGITS_MAX)
		digits[used++] = '0';
	while (used > 0)
		put(text, digits[--used]);
}

void
text_put_quoted(struct text *text, const char *string)
{
	put(text, '"');
	for (; *string != '\0'; string++) {
		unsigned char c = (unsigned char)*string;

		if (c < ' ' || c == 0x7f) {
			text_put(text, "\\x");
			put_digits(text, c, 16, 2);
			continue;
		}
		if (c == '"' || c == '\\')
			put(text, '\\');
		put(text, *string);
	}
	put(text, '"');
}

void
text_number(struct text *text, uint64_t number)
{
	put_digits(text, number, 10, 1);
}

void
text_hex(struct text *text, uint64_t number, unsigned digits)
{
	put_digits(text, number, 16, digits);
}
