/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twins.c - opens and closes two libraries in turn, which the loader puts at
 * the same address, and lets each allocate: the first blocks of 100 bytes,
 * the second of 200.
 *
 *	twins FIRST SECOND ROUNDS
 *
 * Prints how often a library was where the one before had been, of how many.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static __attribute__((noinline)) uintptr_t
visit(const char *path, size_t size)
{
	void *handle = dlopen(path, RTLD_NOW);
	void *(*take)(size_t);
	Dl_info info;

	if (handle == NULL)
		abort();
	*(void **)&take = dlsym(handle, "twin_take");
	if (take(size) == NULL || dladdr(*(void **)&take, &info) == 0)
		abort();
	if (dlclose(handle) != 0)
		abort();
	return (uintptr_t)info.dli_fbase;
}

int
main(int argc, char **argv)
{
	int rounds = argc == 4 ? atoi(argv[3]) : 0;
	uintptr_t before = 0;
	int same = 0;

	for (int i = 0; i < 2 * rounds; i++) {
		uintptr_t base = visit(argv[1 + i % 2], i % 2 ? 200 : 100);

		same += base == before;
		before = base;
	}
	printf("%d of %d\n", same, 2 * rounds);
}
