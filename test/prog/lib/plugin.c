/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.c - a plugin that allocates, from frames of its own. */
#include <stdlib.h>

void *plugin_allocate(size_t size);

static __attribute__((noinline)) void *
deeper(size_t size)
{
	void *p = malloc(size);

	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

void *
plugin_allocate(size_t size)
{
	void *p = deeper(size);

	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}
