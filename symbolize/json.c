/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.c - JSON text on a stream.
 */
#include "json.h"

#include <math.h>
#include <stddef.h>

#include "utf8.h"

/* Of at most three bytes, as all control characters are. */
static unsigned
character(const char *text, size_t bytes)
{
	const unsigned char *c = (const unsigned char *)text;
	if (bytes == 1)
		return c[0];
	if (bytes == 2)
		return (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu);
	return (c[0] & 0xfu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
}

void
json_string(FILE *out, const char *text)
{
	fputc('"', out);
	while (*text) {
		unsigned char c = (unsigned char)*text;
		size_t bytes = utf8_character_bytes(text);
		if (!bytes)
			fputs("\\ufffd", out);
		else if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c == '<' || utf8_control_bytes(text))
			fprintf(out, "\\u%04x", character(text, bytes));
		else
			fwrite(text, 1, bytes, out);
		text += bytes ? bytes : 1;
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
