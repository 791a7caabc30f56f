/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill.c - fills the agent's tables: 2^DEPTH different stacks (a path of that
 * many choices between two functions), or as many blocks as asked for from one
 * stack, or churn that must not wear a table out.
 *
 *	stacks DEPTH	one block of 32 bytes for each
 *	blocks COUNT	blocks of 32 bytes
 *	churn COUNT	frees and allocates COUNT times, 500 blocks live
 *	spread COUNT	as blocks, then frees them and holds 100
 *
 * Prints how many blocks it allocated and how many it holds:
 * "ALLOCATED LIVE", after it asked for a dump.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE 32
#define CHURN_LIVE 500
#define SPREAD_LIVE 100

static unsigned long allocated, live;
static void *volatile last;

static void right(unsigned path, unsigned depth);

static __attribute__((noinline)) void
allocate(void)
{
	void **block = malloc(SIZE);

	if (block == NULL)
		abort();
	/* Reachable from here, for leak checkers. */
	*block = last;
	last = block;
	allocated++;
	live++;
}

static __attribute__((noinline)) void
left(unsigned path, unsigned depth)
{
	if (depth == 0)
		allocate();
	else if (path & 1)
		right(path >> 1, depth - 1);
	else
		left(path >> 1, depth - 1);
	__asm__ volatile(""); /* no tail call */
}

static __attribute__((noinline)) void
right(unsigned path, unsigned depth)
{
	if (depth == 0)
		allocate();
	else if (path & 1)
		right(path >> 1, depth - 1);
	else
		left(path >> 1, depth - 1);
	__asm__ volatile("");
}

static void
churn(unsigned long count)
{
	void *blocks[CHURN_LIVE] = { NULL };
	unsigned random = 1;

	for (unsigned long i = 0; i < count; i++) {
		void **block = &blocks[(random >> 16) % CHURN_LIVE];

		random = random * 1103515245 + 12345;
		live -= *block != NULL;
		free(*block);
		allocate();
		*block = last;
	}
}

/* Frees all blocks but the last SPREAD_LIVE. */
static void
spread(unsigned long count)
{
	void **blocks = malloc(count * sizeof(*blocks));

	if (blocks == NULL)
		abort();
	for (unsigned long i = 0; i < count; i++) {
		allocate();
		blocks[i] = last;
	}
	for (unsigned long i = 0; i < count - SPREAD_LIVE; i++, live--)
		free(blocks[i]);
	free(blocks);
	allocated++;
}

int
main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "blocks";
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	char line[64];
	int length;

	if (strcmp(what, "stacks") == 0)
		for (unsigned path = 0; path < 1U << n; path++)
			left(path, (unsigned)n);
	else if (strcmp(what, "blocks") == 0)
		for (unsigned long i = 0; i < n; i++)
			allocate();
	else if (strcmp(what, "churn") == 0)
		churn(n);
	else
		spread(n);
	kill(getpid(), SIGUSR2);
	length = snprintf(line, sizeof(line), "%lu %lu\n", allocated, live);
	return write(1, line, (size_t)length) == length ? 0 : 1;
}
