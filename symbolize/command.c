/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.c - how subcommands report what went wrong: one line each.
 */
#include "command.h"

#include <stdarg.h>
#include <stdio.h>

#include "utf8.h"

static void
complain(const char *format, va_list args)
{
	char line[4096];

	vsnprintf(line, sizeof(line), format, args);
	/* Input may be quoted in it: still one line, and no terminal codes. */
	utf8_make_printable(line);
	/* One write, so that lines of several processes stay whole. */
	fprintf(stderr, "heapagent: %s\n", line);
}

int
command_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	return COMMAND_FAILED;
}

int
command_misused(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	return COMMAND_USAGE;
}
