/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_runtime.c - a plugin that brings operator new and delete along, as one
 * that is linked statically with its C++ runtime does, and uses them.
 */
#include <stdlib.h>

void *own_new(size_t size) __asm__("_Znwm");
void own_delete(void *p) __asm__("_ZdlPv");
long use_runtime(long number);

void *
own_new(size_t size)
{
	return malloc(size);
}

void
own_delete(void *p)
{
	free(p);
}

long
use_runtime(long number)
{
	long *p = own_new(sizeof(*p));

	*p = number;
	__asm__ volatile("" : : "r"(p) : "memory");
	number = *p;
	own_delete(p);
	return number;
}
