/* SPDX-License-Identifier: Apache-2.0 */
/*
 * other_runtime.c - as own_runtime.c, with one more form of operator delete,
 * and blocks that only that knows how to free.
 */
#include <stdlib.h>

#define HEAD 64

void *other_new(size_t size) __asm__("_Znwm");
void other_delete(void *p) __asm__("_ZdlPv");
void other_delete_sized(void *p, size_t size) __asm__("_ZdlPvm");
long use_runtime(long number);

void *
other_new(size_t size)
{
	return (char *)malloc(size + HEAD) + HEAD;
}

void
other_delete(void *p)
{
	free((char *)p - HEAD);
}

void
other_delete_sized(void *p, size_t size)
{
	(void)size;
	free((char *)p - HEAD);
}

long
use_runtime(long number)
{
	long *p = other_new(sizeof(*p));

	*p = number;
	__asm__ volatile("" : : "r"(p) : "memory");
	number = *p;
	other_delete_sized(p, sizeof(*p));
	return number;
}
