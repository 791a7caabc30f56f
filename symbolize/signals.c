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

/* "RTMIN" or "RTMIN+n". */
static int
real_time(const char *name)
{
	int offset;

	if (strcmp(name, "RTMIN") == 0)
		return SIGRTMIN;
	if (strncmp(name, "RTMIN+", 6) != 0)
		return -1;
	offset = number(name + 6, SIGRTMAX - SIGRTMIN);
	return offset < 0 ? -1 : SIGRTMIN + offset;
}

int
signals_parse(const char *text)
{
	if (strcmp(text, "none") == 0)
		return 0;
	if (isdigit((unsigned char)*text))
		return number(text, SIGRTMAX);
	if (strncmp(text, "SIG", 3) == 0)
		text += 3;
	for (int signal = 1; signal < SIGRTMIN; signal++) {
		const char *name = sigabbrev_np(signal);

		if (name && strcmp(text, name) == 0)
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
