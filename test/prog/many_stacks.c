/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many_stacks.c - `many_stacks COUNT [SECONDS]`: keeps one block on each of
 * COUNT different stacks, says "ready", and sleeps. Without SECONDS it ends
 * when standard input does.
 *
 * CFLAGS: -O1 -fno-optimize-sibling-calls -fno-inline
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void *allocate(unsigned bits, unsigned depth);

/* Two callers of the same function, chosen by a bit: two return addresses. */
static void *
zero(unsigned bits, unsigned depth)
{
	void *p = allocate(bits, depth);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static void *
one(unsigned bits, unsigned depth)
{
	void *p = allocate(bits, depth);

	__asm__ volatile("nop" : "+r"(p));
	return p;
}

static void *
allocate(unsigned bits, unsigned depth)
{
	void *p;

	if (depth == 0)
		return malloc(64);
	p = (bits & 1) != 0 ? one(bits >> 1, depth - 1)
			    : zero(bits >> 1, depth - 1);
	__asm__ volatile("" : "+r"(p));
	return p;
}

int
main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
	unsigned depth = 1;
	char c;

	while (1U << depth < count)
		depth++;
	for (unsigned i = 0; i < count; i++)
		if (allocate(i, depth) == NULL)
			return 1;
	printf("ready\n");
	fflush(stdout);
	if (argc > 2) {
		struct timespec ts = { atoi(argv[2]), 0 };

		while (nanosleep(&ts, &ts) != 0)
			;
		return 0;
	}
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}
