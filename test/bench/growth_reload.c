/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growth_reload.c - the first allocation of a plugin that was loaded anew:
 *
 *	growth_reload PLUGIN COUNT
 *
 * Loads the plugin COUNT times under a new name each time, as a server does
 * that reloads what was built again, and closes it. Prints the median
 * nanoseconds of processor time of the first malloc and free, over the last 50
 * times. With HEAPAGENT_RATE=1 it is a sample, and all its frames are looked
 * up: a dlclose came before it.
 *
 * LIBS: -ldl
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "measure.h"

#define MEASURED 50

static double
visit(const char *plugin, const char *name)
{
	void *(*allocate)(size_t);
	double start, end;
	void *handle;

	if (symlink(plugin, name) != 0)
		exit(2);
	handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	unlink(name);
	if (handle == NULL)
		exit(2);
	*(void **)&allocate = dlsym(handle, "plugin_allocate");
	start = thread_cpu_ns();
	free(allocate(64));
	end = thread_cpu_ns();
	dlclose(handle);
	return end - start;
}

int
main(int argc, char **argv)
{
	char directory[] = "/tmp/growth_reload.XXXXXX", name[64];
	int count = argc == 3 ? atoi(argv[2]) : 0;
	double measured[MEASURED];

	if (count < MEASURED || mkdtemp(directory) == NULL) {
		fprintf(stderr, "usage: growth_reload PLUGIN COUNT\n");
		return 2;
	}
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s/%d.so", directory, i);
		measured[i % MEASURED] = visit(argv[1], name);
	}
	rmdir(directory);
	printf("%.0f\n", median(measured, MEASURED));
	return 0;
}
