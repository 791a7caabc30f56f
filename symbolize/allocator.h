/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator.h - who will serve malloc and operator new in a program, found out
 * before it is started. False of what cannot be read.
 */
#ifndef HEAPAGENT_ALLOCATOR_H
#define HEAPAGENT_ALLOCATOR_H

#include <stdbool.h>

#include "program.h"

/*
 * True if the program's dynamic symbols have a malloc: a linker exports one
 * that libraries refer to, and libc does. It is found before the agent's.
 */
bool allocator_is_programs(const struct program *program);

/*
 * True if the first library that has operator new is the one that serves
 * malloc: the two share what is inside it, and operator new does not come by
 * the agent's malloc (see agent/unseen.h, which finds it out at start).
 */
bool allocator_has_new(const struct program *program);

#endif
