/* SPDX-License-Identifier: Apache-2.0 */
/*
 * realloc_fails.c - reallocs that fail, in every way there is, leave the block
 * as it was, so it stays in the profile; and the block that comes of one that
 * succeeds replaces it. Holds, when it asks for a dump,
 *
 *	100 blocks of 1000 bytes	whose reallocs all failed
 *	100 blocks of 3000 bytes	grown after a failure
 *	nothing of 100 more		freed after a failure
 *
 * and prints the two sums of what it holds, "200 400000". The compiler cannot
 * know that a realloc fails. CFLAGS: -Wno-use-after-free
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define BLOCKS 100

static char *kept[BLOCKS], *grown[BLOCKS], *freed[BLOCKS];
static volatile size_t too_much = PTRDIFF_MAX, most = SIZE_MAX;

static void
require(int holds)
{
	if (!holds)
		abort();
}

/* Ways in which realloc fails: too large, overflow, no memory. */
static void
fail_all(char *p)
{
	struct rlimit before, none = { 0, 0 };

	errno = 0;
	require(realloc(p, too_much) == NULL && errno == ENOMEM);
	require(realloc(p, most) == NULL && errno == ENOMEM);
	errno = 0;
	require(reallocarray(p, too_much, 4) == NULL && errno == ENOMEM);
	require(reallocarray(p, too_much, 1) == NULL && errno == ENOMEM);
	require(getrlimit(RLIMIT_AS, &before) == 0);
	none.rlim_max = before.rlim_max;
	require(setrlimit(RLIMIT_AS, &none) == 0);
	errno = 0;
	require(realloc(p, (size_t)1 << 30) == NULL && errno == ENOMEM);
	require(setrlimit(RLIMIT_AS, &before) == 0);
	require(p[0] == 'a' && p[999] == 'z');
}

static char *
allocate(void)
{
	char *p = malloc(1000);

	require(p != NULL);
	p[0] = 'a';
	p[999] = 'z';
	return p;
}

int
main(void)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		kept[i] = allocate();
		grown[i] = allocate();
		freed[i] = allocate();
		fail_all(kept[i]);
		fail_all(grown[i]);
		fail_all(freed[i]);
		grown[i] = realloc(grown[i], 3000);
		require(grown[i] != NULL && grown[i][999] == 'z');
		free(freed[i]);
	}
	kill(getpid(), SIGUSR2);
	return write(1, "200 400000\n", 11) == 11 ? 0 : 1;
}
