/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_malloc.h - whether a program brings a malloc of its own, which is found
 * before the agent's.
 */
#ifndef HEAPAGENT_OWN_MALLOC_H
#define HEAPAGENT_OWN_MALLOC_H

#include <stdbool.h>

/*
 * True if the program's dynamic symbols have a malloc: a linker exports one
 * that libraries refer to, and libc does. False also of what cannot be read.
 */
bool own_malloc(const char *path);

#endif
