/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairs.c - pairs of an allocation and its free, to count instructions of:
 *
 *	pairs malloc|calloc|realloc COUNT SIZE
 *
 * A pair of realloc is one to twice the size and one back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

static void
pairs_malloc(long count, size_t size)
{
	for (long i = 0; i < count; i++) {
		void *p = malloc(size);

		keep(p);
		free(p);
	}
}

static void
pairs_calloc(long count, size_t size)
{
	for (long i = 0; i < count; i++) {
		void *p = calloc(1, size);

		keep(p);
		free(p);
	}
}

static void
pairs_realloc(long count, size_t size)
{
	void *p = malloc(size);

	for (long i = 0; i < count; i++) {
		p = realloc(p, 2 * size);
		keep(p);
		p = realloc(p, size);
		keep(p);
	}
	free(p);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(long count, size_t size);
	} kinds[] = {
		{ "malloc", pairs_malloc },
		{ "calloc", pairs_calloc },
		{ "realloc", pairs_realloc },
	};

	for (size_t i = 0; argc == 4 && i < 3; i++)
		if (strcmp(argv[1], kinds[i].name) == 0) {
			kinds[i].run(atol(argv[2]), (size_t)atol(argv[3]));
			return 0;
		}
	fprintf(stderr, "usage: pairs malloc|calloc|realloc COUNT SIZE\n");
	return 2;
}
