/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - the agent's resident memory with as many live samples:
 *
 *	memory SAMPLES STACKS
 *
 * Run with HEAPAGENT_RATE=1, where each block is a sample. Prints the bytes of
 * the agent's region (which the kernel names) and of the library's own private
 * dirty pages, from /proc/self/smaps. All its memory is static, so that only
 * the samples it was asked for are there.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "branches.h"
#include "measure.h"

static char smaps[1 << 20];

static void
leaf(void *context)
{
	for (long i = *(long *)context; i > 0; i--)
		keep(malloc(16));
}

static void
read_smaps(void)
{
	int fd = open("/proc/self/smaps", O_RDONLY);
	size_t used = 0;
	ssize_t got;

	while ((got = read(fd, smaps + used, sizeof(smaps) - 1 - used)) > 0)
		used += (size_t)got;
	close(fd);
}

/* A mapping's line starts with its address range, in small hex digits. */
static bool
is_mapping(const char *line)
{
	size_t digits = strspn(line, "0123456789abcdef");

	return digits > 0 && line[digits] == '-';
}

static long
kib_of(const char *line, const char *field)
{
	size_t length = strlen(field);

	return strncmp(line, field, length) == 0 ? atol(line + length) : 0;
}

int
main(int argc, char **argv)
{
	enum { OTHER, REGION, LIBRARY } in = OTHER;
	long region_kib = 0, library_kib = 0, each;
	char *line, *next;

	if (argc != 3) {
		fprintf(stderr, "usage: memory SAMPLES STACKS\n");
		return 2;
	}
	each = atol(argv[2]) ? atol(argv[1]) / atol(argv[2]) : 0;
	branches_visit(atol(argv[2]), leaf, &each);
	read_smaps();
	for (line = smaps; *line != '\0'; line = next) {
		next = line + strcspn(line, "\n");
		if (*next != '\0')
			*next++ = '\0';
		if (!is_mapping(line))
			;
		else if (strstr(line, "[anon:heapagent"))
			in = REGION;
		else if (strstr(line, "libheapagent.so"))
			in = LIBRARY;
		else if (in != LIBRARY || strstr(line, " 00:00 0 ") == NULL ||
			 strpbrk(line, "/["))
			in = OTHER; /* else the library's zeroed data */
		if (in == REGION)
			region_kib += kib_of(line, "Rss:");
		if (in == LIBRARY)
			library_kib += kib_of(line, "Private_Dirty:");
	}
	printf("%ld %ld\n", region_kib * 1024, library_kib * 1024);
	return 0;
}
