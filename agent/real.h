/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real.h - the functions behind the hooks: the next ones in the search order,
 * so that a preloaded or linked allocator goes on serving.
 *
 * Each pointer starts out at a resolver of the same signature, which looks all
 * of them up and forwards; so a hook calls through its pointer without a test.
 */
#ifndef HEAPAGENT_REAL_H
#define HEAPAGENT_REAL_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"

/* X(return type, name, parameters, arguments) */
#define REAL_FUNCTIONS(X) \
	X(void *, malloc, (size_t size), (size)) \
	X(void *, calloc, (size_t count, size_t size), (count, size)) \
	X(void *, realloc, (void *p, size_t size), (p, size)) \
	X(void *, reallocarray, (void *p, size_t count, size_t size), \
	  (p, count, size)) \
	X(int, posix_memalign, (void **p, size_t alignment, size_t size), \
	  (p, alignment, size)) \
	X(void *, aligned_alloc, (size_t alignment, size_t size), \
	  (alignment, size)) \
	X(void *, memalign, (size_t alignment, size_t size), \
	  (alignment, size)) \
	X(void *, valloc, (size_t size), (size)) \
	X(void *, pvalloc, (size_t size), (size)) \
	X(int, dlclose, (void *handle), (handle))

/*
 * Read-mostly: written while the process starts, each with the one value it
 * will ever have, then constant.
 */
struct real_functions {
#define REAL_MEMBER(type, name, parameters, arguments) type(*name) parameters;
	REAL_FUNCTIONS(REAL_MEMBER)
#undef REAL_MEMBER
	void (*free)(void *p);
};
extern HIDDEN struct real_functions real;

/*
 * Looks the functions up, once. first_use runs before the first of them is
 * called, after they are known. Keeps errno. [any]
 */
void real_resolve(void);

/* Atomic: the functions are known, and first_use has begun. */
extern HIDDEN bool real_known;

/* Runs at the first use, once the functions are known; defined in agent.c. */
extern void (*real_first_use)(void);

#endif
