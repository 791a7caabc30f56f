/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deep_stacks.c - allocates at the end of many different deep stacks, in three
 * threads: each level is one of two functions, as the bits of a counter say.
 *
 *	deep_stacks LEAVES DEPTH
 *
 * Prints how many blocks each thread took.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 3

static unsigned long leaves;
static unsigned depth;

static unsigned long descend(unsigned long path, unsigned level);

static __attribute__((noinline)) unsigned long
leaf(unsigned long path)
{
	void *volatile p = malloc(64 + path % 64);
	unsigned long taken = p != NULL;

	free(p);
	return taken;
}

static __attribute__((noinline)) unsigned long
left(unsigned long path, unsigned level)
{
	volatile char local[32];

	local[0] = (char)level;
	return descend(path, level) + (unsigned long)(local[0] * 0);
}

static __attribute__((noinline)) unsigned long
right(unsigned long path, unsigned level)
{
	/* Of a size that only the frame pointer knows. */
	volatile char *local = __builtin_alloca(16 + path % 64);

	local[0] = (char)level;
	return descend(path, level) + (unsigned long)(local[0] * 0);
}

static __attribute__((noinline)) unsigned long
descend(unsigned long path, unsigned level)
{
	unsigned long bit = path >> level % 8 & 1;
	unsigned long taken;

	if (level == 0)
		return leaf(path);
	taken = bit ? right(path, level - 1) : left(path, level - 1);
	/* No tail call. */
	__asm__ volatile("" : "+r"(taken));
	return taken;
}

static void *
run(void *taken)
{
	for (unsigned long i = 0; i < leaves; i++)
		*(unsigned long *)taken += descend(i, depth);
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	unsigned long taken[THREADS] = { 0 };

	if (argc != 3)
		return 2;
	leaves = strtoul(argv[1], NULL, 10);
	depth = (unsigned)strtoul(argv[2], NULL, 10);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, &taken[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%lu %lu %lu\n", taken[0], taken[1], taken[2]);
}
