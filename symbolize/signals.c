/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals.c - libc knows the names of the classic signals; the real-time ones
 * count from SIGRTMIN, which libc may move.
 */
#include "signals.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A number from 0 to limit that text consists of, or -1. */
static int
number(const char *text, int limit)
{
	char *end;
	long value;

	/* strtol() would take a sign and spaces. */
	if (!isdigit((unsigned char)*text))
		return -1;
	value = strtol(text, &end, 10);
	return *end == '\0' && value <= limit ? (int)value : -1;
}

/* "RTMIN", "RTMIN+n", "RTMAX", "RTMAX-n". */
static int
real_time(const char *name)
{
	int from_min = strncasecmp(name, "RTMIN", 5) == 0;
	int offset = 0;

	if (!from_min && strncasecmp(name, "RTMAX", 5) != 0)
		return -1;
	name += 5;
	if (*name) {
		if (*name != (from_min ? '+' : '-'))
			return -1;
		offset = number(name + 1, SIGRTMAX - SIGRTMIN);
		if (offset < 0)
			return -1;
	}
	return from_min ? SIGRTMIN + offset : SIGRTMAX - offset;
}

int
signals_parse(const char *text)
{
	if (strcasecmp(text, "none") == 0)
		return 0;
	if (isdigit((unsigned char)*text))
		return number(text, SIGRTMAX);
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (int signal = 1; signal < SIGRTMIN; signal++) {
		const char *name = sigabbrev_np(signal);

		if (name && strcasecmp(text, name) == 0)
			return signal;
	}
	return real_time(text);
}

const char *
signals_name(int signal, char *name, size_t size_bytes)
{
	const char *known = sigabbrev_np(signal);

	if (known)
		snprintf(name, size_bytes, "SIG%s", known);
	else if (signal >= SIGRTMIN)
		snprintf(name, size_bytes, "SIGRTMIN+%d", signal - SIGRTMIN);
	else
		snprintf(name, size_bytes, "signal %d", signal);
	return name;
}
