/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hidden_free.c - blocks that are freed past the hooks, and blocks that the
 * hooks have never seen: what the argument says, in the order
 *
 *	deepbind PLUGIN		the plugin frees the program's blocks and the
 *				program the plugin's
 *	libc			__libc_free and __libc_malloc
 *	dlmopen PLUGIN		a second libc, with a heap of its own
 *	dlopen AGENT		the agent itself, opened late
 *
 * Then it holds 1000 blocks of 480 bytes from one function, hold(), whose
 * addresses were all in use before, and asks for a dump. Prints "1000 480000".
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 1000
#define SIZE 480

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *p);

static char *blocks[BLOCKS];

static __attribute__((noinline)) void
hold(void *(*allocate)(size_t))
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		blocks[i] = allocate(SIZE);
		if (blocks[i] == NULL)
			abort();
		memset(blocks[i], (int)i, SIZE);
	}
}

static void
drop(void (*release)(void *))
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		for (unsigned j = 0; j < SIZE; j++)
			if (blocks[i][j] != (char)i)
				abort();
		release(blocks[i]);
	}
}

static void
cross(void *(*other_malloc)(size_t), void (*other_free)(void *))
{
	hold(malloc);
	drop(other_free);
	hold(other_malloc);
	drop(free);
	hold(malloc);
	drop(other_free);
}

static void *
open_or_die(Lmid_t namespace, const char *path, int flags)
{
	void *handle = namespace == LM_ID_BASE
			       ? dlopen(path, flags)
			       : dlmopen(namespace, path, flags);

	if (handle == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	return handle;
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	void *handle;

	if (strcmp(what, "deepbind") == 0) {
		handle = open_or_die(LM_ID_BASE, argv[2],
				     RTLD_NOW | RTLD_DEEPBIND);
		cross((void *(*)(size_t))dlsym(handle, "plugin_alloc"),
		      (void (*)(void *))dlsym(handle, "plugin_free"));
	} else if (strcmp(what, "libc") == 0) {
		cross(__libc_malloc, __libc_free);
	} else if (strcmp(what, "dlmopen") == 0) {
		handle = open_or_die(LM_ID_NEWLM, argv[2], RTLD_NOW);
		if (((int (*)(unsigned))dlsym(handle, "plugin_churn"))(20000))
			return 1;
		hold(malloc);
		drop(free);
		dlclose(handle);
	} else if (strcmp(what, "dlopen") == 0) {
		handle = open_or_die(LM_ID_BASE, argv[2],
				     RTLD_NOW | RTLD_GLOBAL);
		hold(malloc);
		drop(free);
		dlclose(handle);
	}
	hold(malloc);
	kill(getpid(), SIGUSR2);
	return write(1, "1000 480000\n", 12) == 12 ? 0 : 1;
}
