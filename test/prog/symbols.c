/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.c - which functions of allocation, and of what a preloaded object
 * might take over by mistake, this program finds: by a weak reference, as
 * libraries probe for them, and by dlsym. One line each, with the file that
 * defines it.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

static const char *const names[] = {
	"free_sized",
	"free_aligned_sized",
	"cfree",
	"malloc_usable_size",
	"malloc_size",
	"mallocx",
	"mallctl",
	"nallocx",
	"sdallocx",
	"tc_malloc",
	"mi_malloc",
	"MallocExtension_ReleaseFreeMemory",
	"__libc_malloc",
	"__libc_free",
	"mallopt",
	"malloc_trim",
	"mallinfo2",
	"deflate",
	"crc32",
	"backtrace",
	"_Unwind_Backtrace",
	"_Unwind_RaiseException",
	"unw_step",
	"dlopen",
	"dlsym",
	"fork",
	"sigprocmask",
	"kill",
	"pthread_create",
};

extern void free_sized(void *p, size_t size) __attribute__((weak));
extern void free_aligned_sized(void *p, size_t alignment, size_t size)
	__attribute__((weak));
extern int mallctl(const char *name, void *old, size_t *old_size, void *new,
		   size_t new_size) __attribute__((weak));

int
main(void)
{
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *found = dlsym(RTLD_DEFAULT, names[i]);
		Dl_info info = { .dli_fname = "nowhere" };

		if (found != NULL)
			(void)dladdr(found, &info);
		printf("%s %s\n", names[i], info.dli_fname);
	}
	printf("weak free_sized %d\n", free_sized != NULL);
	printf("weak free_aligned_sized %d\n", free_aligned_sized != NULL);
	printf("weak mallctl %d\n", mallctl != NULL);
	return 0;
}
