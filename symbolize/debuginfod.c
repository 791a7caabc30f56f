/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debuginfod.c - files by build-id from the servers of $DEBUGINFOD_URLS.
 */
#include "debuginfod.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct client;
typedef int find_function(struct client *client, const unsigned char *id,
			  int id_bytes, char **path);

struct library {
	struct client *client;
	find_function *find_program;
	find_function *find_debug;
};

static struct library library;

void
debuginfod_load(void)
{
	static bool tried;
	if (tried)
		return;
	tried = true;
	void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		fprintf(stderr,
			"heapagent: --debuginfod: %s (the package is called "
			"libdebuginfod1 or elfutils-debuginfod-client)\n",
			dlerror());
		return;
	}
	struct client *(*begin)(void) =
		(struct client * (*)(void)) dlsym(handle, "debuginfod_begin");
	library.find_program =
		(find_function *)dlsym(handle, "debuginfod_find_executable");
	library.find_debug =
		(find_function *)dlsym(handle, "debuginfod_find_debuginfo");
	if (begin && library.find_program && library.find_debug)
		library.client = begin();
	if (library.client && !getenv("DEBUGINFOD_URLS"))
		fputs("heapagent: --debuginfod: DEBUGINFOD_URLS is not set\n",
		      stderr);
}

char *
debuginfod_get(const struct build_id *id, enum debuginfod_kind kind)
{
	if (!library.client)
		return NULL;
	char *path = NULL;
	find_function *find = kind == DEBUGINFOD_DEBUG ? library.find_debug
						       : library.find_program;
	int fd = find(library.client, id->bytes, (int)id->count, &path);
	if (fd < 0)
		return NULL;
	close(fd);
	return path;
}
