/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.c - JSON text on a stream.
 */
#include "json.h"

#include <math.h>
#include <stddef.h>

/* Bytes of the well-formed UTF-8 character at text (RFC 3629), or 0. */
static size_t
character_bytes(const unsigned char *text)
{
	size_t bytes = text[0] < 0x80	 ? 1
		       : text[0] < 0xc2	 ? 0
		       : text[0] < 0xe0	 ? 2
		       : text[0] < 0xf0	 ? 3
		       : text[0] <= 0xf4 ? 4
					 : 0;
	for (size_t i = 1; i < bytes; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if ((text[0] == 0xe0 && text[1] < 0xa0) ||
	    (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) ||
	    (text[0] == 0xf4 && text[1] > 0x8f))
		return 0;
	return bytes;
}

void
json_string(FILE *out, const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	fputc('"', out);
	while (*c) {
		size_t bytes = character_bytes(c);
		if (!bytes)
			fputs("\\ufffd", out);
		else if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (*c < ' ' || *c == 127 || *c == '<')
			fprintf(out, "\\u%04x", *c);
		else
			fwrite(c, 1, bytes, out);
		c += bytes ? bytes : 1;
	}
	fputc('"', out);
}

void
json_number(FILE *out, double value)
{
	if (!isfinite(value))
		fputs("null", out);
	else if (value == floor(value) && fabs(value) < 0x1p53)
		fprintf(out, "%.0f", value);
	else
		fprintf(out, "%.10g", value);
}

void
json_member(FILE *out, const char *name, double value)
{
	fprintf(out, ",\"%s\":", name);
	json_number(out, value);
}
