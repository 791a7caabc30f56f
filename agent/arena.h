/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - the memory that one dump works in, mapped when it begins and
 * unmapped, whole, when it ends.
 *
 * For one thread at a time. The mapping is reserved without being touched, so
 * asking for much costs address space only.
 */
#ifndef HEAPAGENT_ARENA_H
#define HEAPAGENT_ARENA_H

#include <stddef.h>

struct arena {
	char *base;
	size_t size_bytes;
	size_t used_bytes;
};

/* Maps size_bytes. 0 or -ENOMEM. [dump] */
int arena_open(struct arena *arena, size_t size_bytes);
/*
 * Zeroed memory, aligned to 64 bytes, or NULL if it is used up. Each piece
 * follows the one before it, with no more between them than the alignment.
 * [dump]
 */
void *arena_alloc(struct arena *arena, size_t size_bytes);
/* Takes back all that was allocated since used_bytes had that value. [dump] */
void arena_rewind(struct arena *arena, size_t used_bytes);
void arena_close(struct arena *arena);

#endif
