/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first_act.c - allocates before anything else of the process has run: in the
 * program's .preinit_array, which comes before every library's constructor.
 * 100 blocks of 333 bytes there, 200 of 444 in a constructor, freed at exit.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *early[100], *later[200];
static int error_after;

static __attribute__((noinline)) void
preinit(int argc, char **argv, char **envp)
{
	(void)argc;
	(void)argv;
	(void)envp;
	errno = 4711;
	for (unsigned i = 0; i < 100; i++)
		early[i] = malloc(333);
	error_after = errno;
}

__attribute__((section(".preinit_array"),
	       used)) static void (*first)(int, char **, char **) = preinit;

static __attribute__((constructor(101), noinline)) void
construct(void)
{
	for (unsigned i = 0; i < 200; i++)
		later[i] = calloc(4, 111);
}

static __attribute__((destructor(101), noinline)) void
destruct(void)
{
	for (unsigned i = 0; i < 200; i++)
		free(later[i]);
}

int
main(void)
{
	char *copy = strdup(error_after == 4711 ? "errno kept" : "errno set");

	for (unsigned i = 0; i < 100; i++)
		memset(early[i], 1, 333);
	puts(copy);
	free(copy);
	for (unsigned i = 0; i < 50; i++)
		free(early[i]);
}
