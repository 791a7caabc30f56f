/* SPDX-License-Identifier: Apache-2.0 */
/*
 * close_all.c - closes every descriptor from the first argument up, asks for a
 * dump, takes the numbers for files of its own at once, and does that again;
 * the second argument says how often. Whatever came into its files that it did
 * not write itself, or a number that was not free, ends it with status 1.
 * All of that in a child; prints "unhurt" in the end.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAIRS 8

static void *held[64];

static void
close_from(unsigned first)
{
	if (syscall(SYS_close_range, first, ~0U, 0) != 0)
		for (unsigned fd = first; fd < 1024; fd++)
			close((int)fd);
}

/* The next numbers are free, and what goes in comes out and nothing else. */
static int
use_descriptors(int first)
{
	int pairs[PAIRS][2];
	char got[64];

	for (int i = 0; i < PAIRS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]) != 0)
			return 2;
		if (pairs[i][0] != first + 2 * i ||
		    pairs[i][1] != first + 2 * i + 1)
			return 3;
		if (write(pairs[i][0], "ping", 4) != 4)
			return 4;
	}
	/* Samples on the way: new sizes, from under the dump. */
	for (unsigned i = 0; i < 64; i++) {
		free(held[i]);
		held[i] = malloc(100 + i);
	}
	for (int i = 0; i < PAIRS; i++) {
		shutdown(pairs[i][0], SHUT_WR);
		if (read(pairs[i][1], got, sizeof(got)) != 4 ||
		    memcmp(got, "ping", 4) != 0)
			return 5;
		if (read(pairs[i][1], got, sizeof(got)) != 0)
			return 6;
	}
	return 0;
}

int
main(int argc, char **argv)
{
	int first = argc > 1 ? atoi(argv[1]) : 3;
	int rounds = argc > 2 ? atoi(argv[2]) : 10;
	int bad = 0, status;
	pid_t child;

	/* All is decided in the process that has closed everything. */
	child = fork();
	if (child == 0) {
		for (int i = 0; i < rounds && bad == 0; i++) {
			struct timespec pause = { 0, 50000000 };

			close_from((unsigned)first);
			kill(getpid(), SIGUSR2);
			bad = use_descriptors(first);
			(void)nanosleep(&pause, NULL);
		}
		_exit(bad);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 10;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "status %#x\n", status);
		return 1;
	}
	return write(1, "unhurt\n", 7) == 7 ? 0 : 1;
}
