/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fails_nest.c - an allocator that has no memory for one size, and before it
 * says so calls a function of the program's, as a new_handler is called.
 */
#include <errno.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t size);

void (*fails_nest_hook)(void);

void *
malloc(size_t size)
{
	if (size != 77777 || fails_nest_hook == NULL)
		return __libc_malloc(size);
	fails_nest_hook();
	errno = ENOMEM;
	return NULL;
}
