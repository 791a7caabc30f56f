/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.c - text from files, made fit for others.
 */
#include "utf8.h"

#include <string.h>

#include "utf8_length.h"

size_t
utf8_character_bytes(const char *text)
{
	return utf8_length(text);
}

size_t
utf8_control_bytes(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	/* An old terminal takes those of C1 for escapes. */
	if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
		return 2;
	/* U+061C; U+200E, F; U+2028 to E; U+2066 to 9: with them, what is
	 * read is not what is there. */
	if (c[0] == 0xd8 && c[1] == 0x9c)
		return 2;
	if (c[0] == 0xe2 && c[1] == 0x80 &&
	    (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xa8 && c[2] <= 0xae)))
		return 3;
	if (c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9)
		return 3;
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
