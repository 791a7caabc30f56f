/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - finds a program as execvp() would, and says whether a preloaded
 * library can have an effect in it.
 */
#ifndef HEAPAGENT_PROGRAM_H
#define HEAPAGENT_PROGRAM_H

#include <limits.h>

enum program_kind {
	PROGRAM_FITS,
	PROGRAM_NOT_FOUND,
	PROGRAM_NOT_EXECUTABLE,
	PROGRAM_UNFIT, /* runs, but never with the agent in it */
};

struct program {
	char path[PATH_MAX];
	/* The ELF file that will run (a script's interpreter, env's program)
	 * and the loader that it names; "" where that is not known. */
	char image[PATH_MAX];
	char loader[PATH_MAX];
	/* What is wrong, without the program's name; empty if it fits. */
	char reason[PATH_MAX + 256];
};

/*
 * Looks name up (in $PATH if it has no slash) and examines the file, and for a
 * script its interpreters. May look at a file that is replaced before it is
 * run: a help for people, no safeguard.
 */
enum program_kind program_find(struct program *program, const char *name);

#endif
