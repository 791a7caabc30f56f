/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairs.c - every way to allocate with every way to free, each with its own
 * size, ROUNDS times. Nothing of it lives when it asks for a dump: it prints
 * how many allocations it made itself through the hooks' own names,
 *
 *	ALLOCATIONS
 *
 * in functions that are called allocate_direct and allocate_within; libc makes
 * the second kind's (strdup, getline and others).
 */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#define ROUNDS 50
#define DIRECT 10
#define WITHIN 7
#define FREES 6

static unsigned long allocations;

static __attribute__((noinline)) void *
allocate_direct(unsigned which, size_t size)
{
	void *p = NULL;

	allocations++;
	switch (which) {
	case 0:
		p = malloc(size);
		break;
	case 1:
		p = calloc(3, size);
		break;
	case 2:
		p = realloc(NULL, size);
		break;
	case 3:
		p = reallocarray(NULL, 2, size);
		break;
	case 4:
		if (posix_memalign(&p, 256, size) != 0)
			p = NULL;
		break;
	case 5:
		p = aligned_alloc(64, size);
		break;
	case 6:
		p = memalign(8192, size);
		break;
	case 7:
		p = valloc(size);
		break;
	case 8:
		p = pvalloc(size);
		break;
	default:
		p = realloc(malloc(1), size);
		allocations++;
	}
	return p;
}

static void *
line_of_stream(void)
{
	static const char text[] = "a line of some length\n";
	FILE *stream = fmemopen((void *)(size_t)text, sizeof(text) - 1, "r");
	char *line = NULL;
	size_t size = 0;

	if (stream == NULL || getline(&line, &size, stream) < 0)
		abort();
	fclose(stream);
	return line;
}

static void *
buffer_of_stream(void)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (stream == NULL || fputs("written to memory", stream) < 0)
		abort();
	fclose(stream);
	return text;
}

static __attribute__((noinline)) void *
allocate_within(unsigned which)
{
	char *text = NULL;

	switch (which) {
	case 0:
		return strdup("a string");
	case 1:
		return strndup("a string", 4);
	case 2:
		return asprintf(&text, "%d %s", 42, "words") > 0 ? text : NULL;
	case 3:
		return line_of_stream();
	case 4:
		return buffer_of_stream();
	case 5:
		return realpath("/proc/self", NULL);
	default:
		return wcsdup(L"wide");
	}
}

static void
give_back(unsigned which, void *p)
{
	char *q;

	if (p == NULL)
		abort();
	switch (which) {
	case 0:
		free(p);
		return;
	case 1: /* glibc frees */
		if (realloc(p, 0) != NULL)
			abort();
		return;
	case 2:
		if (reallocarray(p, 0, 8) != NULL)
			abort();
		return;
	case 3: /* moves, and is copied */
		allocations++;
		q = realloc(p, 300000);
		free(q);
		return;
	case 4: /* shrinks in place */
		allocations++;
		q = realloc(p, 1);
		free(q);
		return;
	default: /* a stream's buffer is libc's to free */
		free(NULL);
		free(p);
	}
}

int
main(void)
{
	char line[32];
	int n;

	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned f = 0; f < FREES; f++) {
			for (unsigned a = 0; a < DIRECT; a++)
				give_back(f,
					  allocate_direct(a, 100 + 7 * round));
			for (unsigned a = 0; a < WITHIN; a++)
				give_back(f, allocate_within(a));
		}
	kill(getpid(), SIGUSR2);
	n = snprintf(line, sizeof(line), "%lu\n", allocations);
	return write(1, line, (size_t)n) == n ? 0 : 1;
}
