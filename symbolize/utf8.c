/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.c - text from files, made fit for others.
 */
#include "utf8.h"

#include <string.h>

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

size_t
utf8_control_bytes(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	/* An old terminal takes those of C1 for escapes. */
	if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
		return 2;
	return (c[0] && c[0] < ' ') || c[0] == 0x7f;
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
	for (; *text; text++)
		memset(text, '?', utf8_control_bytes(text));
}
