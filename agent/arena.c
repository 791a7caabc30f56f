/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - a dump's working memory; see arena.h. */
#include "arena.h"

#include <errno.h>
#include <string.h>

#include "compiler.h"
#include "sys.h"

int
arena_open(struct arena *arena, size_t size_bytes)
{
	arena->base = sys_map(size_bytes);
	arena->size_bytes = size_bytes;
	arena->used_bytes = 0;
	return arena->base == NULL ? -ENOMEM : 0;
}

void *
arena_alloc(struct arena *arena, size_t size_bytes)
{
	size_t rounded = ALIGN_UP(size_bytes, (size_t)CACHE_LINE);
	void *memory;

	if (rounded < size_bytes ||
	    rounded > arena->size_bytes - arena->used_bytes)
		return NULL;
	memory = arena->base + arena->used_bytes;
	arena->used_bytes += rounded;
	return memory;
}

void
arena_rewind(struct arena *arena, size_t used_bytes)
{
	/* Cleared here, so that arena_alloc() may promise zeroes. */
	memset(arena->base + used_bytes, 0, arena->used_bytes - used_bytes);
	arena->used_bytes = used_bytes;
}

void
arena_close(struct arena *arena)
{
	char *base = arena->base;

	/*
	 * Forgotten first: a process that is forked between the two must not
	 * unmap what may be there by then.
	 */
	arena->base = NULL;
	if (base != NULL)
		sys_unmap(base, arena->size_bytes);
}
