/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forward.c - the least that a preload can do: each function jumps through a
 * pointer to the next one. What the agent costs beyond this is its own doing.
 */
#include <dlfcn.h>
#include <stdlib.h>

static void *(*next_malloc)(size_t size);
static void (*next_free)(void *p);
static void *(*next_calloc)(size_t count, size_t size);
static void *(*next_realloc)(void *p, size_t size);

static void
resolve(void)
{
	*(void **)&next_free = dlsym(RTLD_NEXT, "free");
	*(void **)&next_calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
}

static void *
first_malloc(size_t size)
{
	resolve();
	return next_malloc(size);
}

static void
first_free(void *p)
{
	resolve();
	next_free(p);
}

static void *
first_calloc(size_t count, size_t size)
{
	resolve();
	return next_calloc(count, size);
}

static void *
first_realloc(void *p, size_t size)
{
	resolve();
	return next_realloc(p, size);
}

static void *(*next_malloc)(size_t size) = first_malloc;
static void (*next_free)(void *p) = first_free;
static void *(*next_calloc)(size_t count, size_t size) = first_calloc;
static void *(*next_realloc)(void *p, size_t size) = first_realloc;

void *
malloc(size_t size)
{
	return next_malloc(size);
}

void
free(void *p)
{
	next_free(p);
}

void *
calloc(size_t count, size_t size)
{
	return next_calloc(count, size);
}

void *
realloc(void *p, size_t size)
{
	return next_realloc(p, size);
}
