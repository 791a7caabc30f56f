/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pause.c - what a dump costs the program it is made in:
 *
 *	pause STACKS ROUNDS [spin]
 *
 * Holds one block under each of STACKS distinct stacks, asks for ROUNDS dumps
 * of itself and prints what dump_cost.h says, with `spin` of another thread,
 * too, which reads the clock all the time.
 *
 * LIBS: -pthread
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "branches.h"
#include "dump_cost.h"

static void
leaf(void *context)
{
	(void)context;
	keep(malloc(16));
}

int
main(int argc, char **argv)
{
	const char *directory = getenv("HEAPAGENT_DIR");
	int rounds = argc >= 3 ? atoi(argv[2]) : 0;
	bool spins = argc > 3;

	if (rounds < 1 || rounds > DUMP_COST_ROUNDS_MAX || directory == NULL) {
		fprintf(stderr, "usage: HEAPAGENT_DIR=DIR pause STACKS ROUNDS "
				"[spin]\n");
		return 2;
	}
	branches_visit(atol(argv[1]), leaf, NULL);
	if (spins)
		spinner_start();
	dump_cost_print(directory, "pause", rounds, spins);
	return 0;
}
