/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bias.c - mixed sizes, 16 B to 256 KiB, on one stack; a fixed live set; one
 * dump. Prints the truth: a line `SIZE LIVE ALLOCATED` for each size.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SIZES 15
/* Blocks of each size, chosen so that every size matters to some sum. */
static const unsigned live_of[SIZES] = { 20000, 12000, 8000, 5000, 3000,
					 2000,	1200,  800,  500,  300,
					 200,	120,   80,   50,   30 };

static void *volatile sink;

/* The one stack: every block of every size comes from this call. */
static __attribute__((noinline)) void *
allocate(size_t size)
{
	void *p = malloc(size);

	sink = p;
	return p;
}

int
main(void)
{
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < SIZES; i++)
			for (unsigned n = 0; n < live_of[i]; n++) {
				void *p = allocate((size_t)16 << i);

				if (round == 0)
					free(p);
			}
	kill(getpid(), SIGUSR2);
	for (unsigned i = 0; i < SIZES; i++)
		printf("%zu %u %u\n", (size_t)16 << i, live_of[i],
		       2 * live_of[i]);
	return 0;
}
