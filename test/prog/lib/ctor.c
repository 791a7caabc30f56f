/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctor.c - a library whose constructor allocates 1 MiB in blocks, with malloc,
 * calloc and realloc, and keeps them.
 */
#include <stdlib.h>

#define BLOCKS 1024
#define BLOCK_BYTES 1024

static void *volatile kept[BLOCKS];

static __attribute__((constructor(101))) void
construct(void)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (i % 3 == 0)
			kept[i] = malloc(BLOCK_BYTES);
		else if (i % 3 == 1)
			kept[i] = calloc(32, BLOCK_BYTES / 32);
		else
			kept[i] = realloc(NULL, BLOCK_BYTES);
		if (kept[i] == NULL)
			abort();
	}
}
