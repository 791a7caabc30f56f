/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debuginfod.c - files by build-id from the servers of $DEBUGINFOD_URLS.
 */
#include "debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct client;
typedef int find_function(struct client *client, const unsigned char *id,
			  int id_bytes, char **path);

typedef int progress_function(struct client *client, long a, long b);
typedef void set_progress(struct client *client, progress_function *function);

/* After so long the user is told what is waited for. */
#define PATIENCE_S 3

struct library {
	struct client *client;
	void (*waits)(void *data);
	void *waits_data;
	time_t begin; /* of what is asked; 0: that it waits was said */
	int status;   /* not 0: no server is asked any more */
	find_function *find_program;
	find_function *find_debug;
};

static struct library library;

/* Called now and then while a server is asked; not 0 would end that. */
static int
progress(struct client *client, long a, long b)
{
	(void)client;
	(void)a;
	(void)b;
	if (library.waits && library.begin &&
	    time(NULL) - library.begin >= PATIENCE_S) {
		library.begin = 0;
		library.waits(library.waits_data);
	}
	return 0;
}

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
	const char *servers = getenv("DEBUGINFOD_URLS");
	if (library.client && !(servers && *servers)) {
		fputs("heapagent: --debuginfod: DEBUGINFOD_URLS is not set\n",
		      stderr);
		library.client = NULL;
	}
	set_progress *set =
		(set_progress *)dlsym(handle, "debuginfod_set_progressfn");
	if (library.client && set)
		set(library.client, progress);
}

void
debuginfod_on_wait(void (*waits)(void *data), void *data)
{
	library.waits = waits;
	library.waits_data = data;
}

char *
debuginfod_get(const struct build_id *id, enum debuginfod_kind kind,
	       int *status)
{
	char *path = NULL;
	*status = library.status;
	if (!library.client || library.status)
		return NULL;
	find_function *find = kind == DEBUGINFOD_DEBUG ? library.find_debug
						       : library.find_program;
	library.begin = time(NULL);
	int fd = find(library.client, id->bytes, (int)id->count, &path);
	if (fd >= 0) {
		close(fd);
		return path;
	}
	*status = fd;
	/* One file may wait so long, not each. */
	if (fd == -ETIME || fd == -ETIMEDOUT)
		library.status = fd;
	return NULL;
}
