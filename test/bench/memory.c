/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - the memory of a program with as many live samples:
 *
 *	memory SAMPLES STACKS
 *
 * Run with HEAPAGENT_RATE=1, where each block is a sample. Prints the bytes of
 * all private dirty pages, from /proc/self/smaps: what it has more with the
 * agent than without is the agent's, the region, the library's data and all
 * else that it maps.
 */
#include <fcntl.h>
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

static long
kib_of(const char *line, const char *field)
{
	size_t length = strlen(field);

	return strncmp(line, field, length) == 0 ? atol(line + length) : 0;
}

static long
dirty_bytes(const char *text)
{
	long kib = 0;

	for (; *text != '\0'; text += strcspn(text, "\n") + 1)
		kib += kib_of(text, "Private_Dirty:");
	return kib * 1024;
}

int
main(int argc, char **argv)
{
	long each;

	if (argc != 3) {
		fprintf(stderr, "usage: memory SAMPLES STACKS\n");
		return 2;
	}
	each = atol(argv[2]) ? atol(argv[1]) / atol(argv[2]) : 0;
	branches_visit(atol(argv[2]), leaf, &each);
	read_smaps();
	printf("%ld\n", dirty_bytes(smaps));
	return 0;
}
