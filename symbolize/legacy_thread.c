/* SPDX-License-Identifier: Apache-2.0 */
/* legacy_thread.c - a thread's comment; see legacy_thread.h. */
#include "legacy_thread.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In nanoseconds a 64-bit number holds 153 million of them. */
#define MINUTES_MAX INT64_C(100000000)
#define MINUTE_NS INT64_C(60000000000)

/*
 * Takes the quoted string at text apart, in place: what is behind it, or NULL.
 */
static char *
unquote(char *text)
{
	char *out = text;
	if (*text++ != '"')
		return NULL;
	for (; *text && *text != '"'; text++) {
		if (text[0] == '\\' && text[1] == 'x' &&
		    isxdigit((unsigned char)text[2]) &&
		    isxdigit((unsigned char)text[3])) {
			const char hex[] = { text[2], text[3], '\0' };
			*out++ = (char)strtol(hex, NULL, 16);
			text += 3;
			continue;
		}
		if (*text == '\\' && text[1])
			text++;
		*out++ = *text;
	}
	if (*text != '"')
		return NULL;
	*out = '\0';
	return text + 1;
}

bool
legacy_thread_read(char *text, struct legacy_thread *thread)
{
	int length = 0;
	int64_t minutes;
	*thread = (struct legacy_thread){ .tid = 0 };
	if (sscanf(text, "%9" SCNd64 " %n", &thread->tid, &length) != 1 ||
	    text[length] != '"')
		return false;
	thread->name = text + length;
	text = unquote(text + length);
	if (!text || text[0] != ' ' || text[1] != '[')
		return false;
	char *state = text + 2, *end = strchr(state, ']');
	if (!end)
		return false;
	*end = '\0';
	thread->state = state;
	char *comma = strchr(state, ',');
	if (!comma)
		return true;
	*comma = '\0';
	if (sscanf(comma + 1, "%9" SCNd64 " minutes", &minutes) == 1 &&
	    minutes > 0 && minutes < MINUTES_MAX)
		thread->blocked_ns = minutes * MINUTE_NS;
	return true;
}
