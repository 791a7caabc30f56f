/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - allocation that succeeds or ends the command.
 */
#include "memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void *
or_exit(void *pointer)
{
	if (!pointer) {
		fputs("heapagent: out of memory\n", stderr);
		exit(1);
	}
	return pointer;
}

void
memory_bound(uint64_t bytes)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_DATA, &limit) || limit.rlim_cur <= bytes)
		return;
	limit.rlim_cur = bytes;
	setrlimit(RLIMIT_DATA, &limit);
}

void *
memory_get(size_t bytes)
{
	return or_exit(calloc(1, bytes ? bytes : 1));
}

void *
memory_resize(void *old, size_t count, size_t item_bytes)
{
	if (item_bytes && count > SIZE_MAX / item_bytes)
		or_exit(NULL);
	size_t bytes = count * item_bytes;
	return or_exit(realloc(old, bytes ? bytes : 1));
}

char *
memory_string(const char *text)
{
	return or_exit(strdup(text));
}

char *
memory_format(const char *format, ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, format);
	int bytes = vasprintf(&text, format, args);
	va_end(args);
	return or_exit(bytes < 0 ? NULL : text);
}
