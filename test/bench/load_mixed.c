/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_mixed.c - random sizes, mostly small, a few large, freed in the order
 * of a stack or of a queue by turns (the shape of alloc-test).
 */
#include <stdlib.h>

#include "random.h"

#define BLOCKS 20000
#define ROUNDS 250

static size_t
random_size(uint64_t *random)
{
	/* Sizes of 2^4 to 2^13, each power half as often as the one before. */
	unsigned zeros = (unsigned)__builtin_clz(random_next(random) | 1 << 22);

	return ((size_t)16 << zeros) + random_below(random, 16u << zeros);
}

int
main(void)
{
	static char *blocks[BLOCKS];
	uint64_t random = 1;

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < BLOCKS; i++) {
			size_t size = random_size(&random);

			blocks[i] = malloc(size);
			blocks[i][0] = (char)i;
			blocks[i][size - 1] = (char)i;
		}
		for (int i = 0; i < BLOCKS; i++)
			free(blocks[round % 2 ? i : BLOCKS - 1 - i]);
	}
	return 0;
}
