/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growth_live.c - malloc and free in a program with a large heap:
 *
 *	growth_live BLOCKS
 *
 * So many are held, of 128 to 256 KiB each, of which only the first page is
 * touched; then small blocks, of 200,000, are replaced by chance. Prints the
 * least nanoseconds of processor time of a free and a malloc over the rounds.
 * With HEAPAGENT_RATE=64K nearly each of the large ones is a sample, and of
 * the small ones one in 500.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"
#include "random.h"

#define SMALL 200000
#define ROUNDS 25
#define ROUND_PAIRS 200000

static void *small[SMALL];

static void
hold(unsigned blocks, uint64_t *random)
{
	const uint32_t least = 128 << 10;

	/* The kernel has no mapping for each of so many. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TOP_PAD, 1 << 30);
	while (blocks-- > 0) {
		void *p = malloc(least + random_below(random, least));

		if (p == NULL)
			exit(2);
		keep(p);
	}
}

static void
replace(uint64_t *random)
{
	void **place = &small[random_below(random, SMALL)];

	free(*place);
	*place = malloc(16 + random_below(random, 240));
	keep(*place);
}

int
main(int argc, char **argv)
{
	uint64_t random = 1;
	double least = 1e9;

	if (argc != 2) {
		fprintf(stderr, "usage: growth_live BLOCKS\n");
		return 2;
	}
	hold((unsigned)atoi(argv[1]), &random);
	for (int i = 0; i < SMALL; i++)
		small[i] = malloc(64);
	for (int round = 0; round < ROUNDS; round++) {
		double start = thread_cpu_ns(), each;

		for (int i = 0; i < ROUND_PAIRS; i++)
			replace(&random);
		each = (thread_cpu_ns() - start) / ROUND_PAIRS;
		least = each < least ? each : least;
	}
	printf("%.1f\n", least);
	return 0;
}
