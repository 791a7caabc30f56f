/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reason.c - why something failed, in one line for a person.
 */
#include "reason.h"

#include <stdarg.h>
#include <stdio.h>

#include "utf8.h"

int
reason_set(struct reason *reason, int code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(reason->text, sizeof(reason->text), format, args);
	va_end(args);
	/* Input may be quoted in it: still one line, and no terminal codes. */
	utf8_make_printable(reason->text);
	return code;
}
