/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_library.c - lets a library allocate, through plain_take(), as often as
 * the argument says: for libraries whose unwind tables are damaged.
 *
 *	call_library LIBRARY ROUNDS
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int
main(int argc, char **argv)
{
	void *handle = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void *(*take)(size_t);

	if (handle == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&take = dlsym(handle, "plain_take");
	for (int i = 0; i < atoi(argv[2]); i++)
		free(take(90));
	puts("done");
}
