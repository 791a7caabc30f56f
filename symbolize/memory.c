/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - allocation that succeeds or ends the command.
 */
#include "memory.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void *
or_exit(void *pointer)
{
	if (!pointer) {
		fputs("heapagent: out of memory\n", stderr);
		exit(1);
	}
	return pointer;
}

/* Private writable memory now: data and stack, the sixth field. */
static uint64_t
data_bytes(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	if (!file)
		return 0;
	if (fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
		pages = 0;
	fclose(file);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void
memory_bound(uint64_t bytes)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_DATA, &limit))
		return;
	limit.rlim_cur = data_bytes() + bytes;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
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

size_t
memory_in_use(void)
{
	struct mallinfo2 info = mallinfo2();
	return info.uordblks + info.hblkhd;
}
