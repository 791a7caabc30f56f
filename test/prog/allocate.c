/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocate.c - calls each allocator function that every libc has, and forks;
 * says so at the end. Exits with 1 if one of them fails.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void
check(void *p, size_t size)
{
	if (p == NULL)
		exit(1);
	memset(p, 1, size);
	free(p);
}

static void
allocate(void)
{
	void *p;

	check(malloc(100), 100);
	check(calloc(10, 10), 100);
	check(realloc(malloc(10), 100000), 100000);
	check(aligned_alloc(64, 128), 128);
	check(memalign(64, 100), 100);
	check(valloc(100), 100);
	check(posix_memalign(&p, 4096, 100) == 0 ? p : NULL, 100);
}

int
main(void)
{
	int status;
	pid_t child;

	for (int i = 0; i < 1000; i++)
		allocate();
	child = fork();
	if (child == 0) {
		allocate();
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		return 1;
	puts("allocated and freed");
	return 0;
}
