/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - the memory that one dump works in, mapped when it begins and
 * unmapped, whole, when it ends.
 *
 * For one thread at a time. Address space is reserved, and becomes memory in
 * steps, as it is handed out: so asking for much costs nothing but that, also
 * where the program has locked all its future memory (mlockall) or may have
 * only so much data (RLIMIT_DATA).
 */
#ifndef HEAPAGENT_ARENA_H
#define HEAPAGENT_ARENA_H

#include <stddef.h>

struct arena {
	char *base;
	size_t size_bytes;
	size_t used_bytes;
	size_t committed_bytes;
	size_t data_bytes; /* of which so much may be */
};

/*
 * Reserves size_bytes: 0 or -ENOMEM, also if that is more than half of the
 * address space that RLIMIT_AS leaves to the program. [dump]
 */
int arena_open(struct arena *arena, size_t size_bytes);
/*
 * Zeroed memory, aligned to 64 bytes, or NULL if it is used up or the kernel
 * gives none. Each piece
 * follows the one before it, with no more between them than the alignment.
 * [dump]
 */
void *arena_alloc(struct arena *arena, size_t size_bytes);
/* Takes back all that was allocated since used_bytes had that value. [dump] */
void arena_rewind(struct arena *arena, size_t used_bytes);
void arena_close(struct arena *arena);

#endif
