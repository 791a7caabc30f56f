/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c_runtimes.c - a C program without a C++ runtime: asks by weak references
 * whether there is one, and uses every form of operator new and delete of it;
 * opens a plugin that brings one along, uses that, closes it, and does so again
 * with the plugin at another place. With OTHER that plugin is used beside the
 * first one, and nothing else.
 *
 *	c_runtimes PLUGIN [OTHER]
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define WEAK(name, symbol, ...) \
	extern void *name(__VA_ARGS__) __asm__(symbol) __attribute__((weak))

WEAK(new_one, "_Znwm", size_t);
WEAK(new_array, "_Znam", size_t);
WEAK(new_quiet, "_ZnwmRKSt9nothrow_t", size_t, const void *);
WEAK(new_array_quiet, "_ZnamRKSt9nothrow_t", size_t, const void *);
WEAK(new_aligned, "_ZnwmSt11align_val_t", size_t, size_t);
WEAK(new_array_aligned, "_ZnamSt11align_val_t", size_t, size_t);
WEAK(delete_one, "_ZdlPv", void *);
WEAK(delete_array, "_ZdaPv", void *);
WEAK(delete_sized, "_ZdlPvm", void *, size_t);
WEAK(delete_array_sized, "_ZdaPvm", void *, size_t);
WEAK(delete_aligned, "_ZdlPvSt11align_val_t", void *, size_t);
WEAK(delete_sized_aligned, "_ZdlPvmSt11align_val_t", void *, size_t, size_t);

static void
use_all_forms(void)
{
	static const char quiet;

	delete_one(new_one(100));
	delete_array(new_array(100));
	delete_sized(new_quiet(100, &quiet), 100);
	delete_array_sized(new_array_quiet(100, &quiet), 100);
	delete_aligned(new_aligned(128, 64), 64);
	delete_sized_aligned(new_array_aligned(128, 64), 128, 64);
}

static long
use_plugin(const char *path, long number)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	long (*use)(long);

	if (handle == NULL)
		return -1;
	*(void **)&use = dlsym(handle, "use_runtime");
	for (int i = 0; i < 1000; i++)
		number = use(number);
	if (dlclose(handle) != 0)
		return -1;
	/* The next one has to go elsewhere. */
	(void)mmap(NULL, 123456, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return number;
}

int
main(int argc, char **argv)
{
	if (argc == 3) {
		if (dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) == NULL)
			return 1;
		printf("%ld\n", use_plugin(argv[2], 4));
		return 0;
	}
	if (argc != 2)
		return 2;
	printf("%ld\n", use_plugin(argv[1], 1));
	printf("%ld\n", use_plugin(argv[1], 2));
	if (new_one != NULL)
		use_all_forms();
	printf("%ld\n", use_plugin(argv[1], 3));
	return 0;
}
