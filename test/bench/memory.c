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

/*
 * True if the mapping is the library's: of its file, or its zeroed data, which
 * has no name and begins where the last mapping of the file ends. *end is that
 * end, or 0.
 */
static bool
is_library(const char *mapping, unsigned long *end)
{
	char *after;
	unsigned long start = strtoul(mapping, &after, 16);
	bool is_file = strstr(mapping, "libheapagent.so") != NULL;
	bool is_data = start == *end && strpbrk(mapping, "/[") == NULL;

	*end = is_file ? strtoul(after + 1, NULL, 16) : 0;
	return is_file || is_data;
}

/*
 * Adds up over the mappings. The region is known by its name, or, where the
 * kernel keeps no names (CONFIG_ANON_VMA_NAME), by what only it has: neither
 * swap accounting nor huge pages (VmFlags nr, nh).
 */
static void
add_up(char *text, long *region_kib, long *library_kib)
{
	bool library = false, region = false;
	long resident_kib = 0, dirty_kib = 0;
	unsigned long end = 0;

	for (char *next; *text != '\0'; text = next) {
		next = text + strcspn(text, "\n");
		if (*next != '\0')
			*next++ = '\0';
		if (is_mapping(text)) {
			library = is_library(text, &end);
			region = strstr(text, "[anon:heapagent]");
		}
		resident_kib += kib_of(text, "Rss:");
		dirty_kib += kib_of(text, "Private_Dirty:");
		if (strncmp(text, "VmFlags:", 8) != 0)
			continue;
		if (region || (strstr(text, " nr") && strstr(text, " nh")))
			*region_kib += resident_kib;
		else if (library)
			*library_kib += dirty_kib;
		resident_kib = 0;
		dirty_kib = 0;
	}
}

int
main(int argc, char **argv)
{
	long region_kib = 0, library_kib = 0, each;

	if (argc != 3) {
		fprintf(stderr, "usage: memory SAMPLES STACKS\n");
		return 2;
	}
	each = atol(argv[2]) ? atol(argv[1]) / atol(argv[2]) : 0;
	branches_visit(atol(argv[2]), leaf, &each);
	read_smaps();
	add_up(smaps, &region_kib, &library_kib);
	printf("%ld %ld\n", region_kib * 1024, library_kib * 1024);
	return 0;
}
