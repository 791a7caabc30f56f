/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forks.c - `forks CHILDREN`: children of one state, one after the other. Each
 * allocates a block of each of eight sizes, 600 KiB together, asks itself for
 * a dump, and ends. Prints how many ended well.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each of a size class of its own, and its blocks of a page or more. */
static const size_t sizes[] = { 32 << 10, 40 << 10, 48 << 10, 56 << 10,
				64 << 10, 80 << 10, 96 << 10, 112 << 10 };
static void *volatile sink;

static int
child(void)
{
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		sink = malloc(sizes[i]);
		if (sink == NULL)
			return 1;
	}
	raise(SIGUSR2);
	return 0;
}

int
main(int argc, char **argv)
{
	int children = argc > 1 ? atoi(argv[1]) : 1, good = 0;

	/* The parent's gap is drawn. */
	sink = malloc(1000);
	for (int i = 0; i < children; i++) {
		int status = 1;
		pid_t pid = fork();

		if (pid == 0)
			_exit(child());
		good += waitpid(pid, &status, 0) == pid && status == 0;
	}
	printf("%d\n", good);
	return good != children;
}
