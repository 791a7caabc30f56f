/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.c - text from files, made fit for others.
 */
#include "utf8.h"

size_t
utf8_character_bytes(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	size_t bytes = c[0] < 0x80    ? 1
		       : c[0] < 0xc2  ? 0
		       : c[0] < 0xe0  ? 2
		       : c[0] < 0xf0  ? 3
		       : c[0] <= 0xf4 ? 4
				      : 0;
	for (size_t i = 1; i < bytes; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
	    (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
		return 0;
	return bytes;
}

void
utf8_repair(char *text)
{
	while (*text) {
		size_t bytes = utf8_character_bytes(text);
		if (!bytes)
			*text = '?';
		text += bytes ? bytes : 1;
	}
}

void
utf8_make_printable(char *text)
{
	utf8_repair(text);
	for (unsigned char *c = (unsigned char *)text; *c; c++) {
		/* U+0080 to U+009F: an old terminal takes them for escapes. */
		if (c[0] == 0xc2 && c[1] < 0xa0)
			c[0] = c[1] = '?';
		else if (*c < ' ' || *c == 127)
			*c = '?';
	}
}
