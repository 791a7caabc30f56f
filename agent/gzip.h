/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip.h - a stream of bytes compressed as gzip (RFC 1952) into a file.
 *
 * zlib's deflate, linked in statically and hidden, working in the arena's
 * memory alone: it never calls malloc.
 */
#ifndef HEAPAGENT_GZIP_H
#define HEAPAGENT_GZIP_H

#include <stddef.h>

#include "arena.h"

struct gzip; /* in the arena; see gzip.c */

/* What gzip_open() takes from an arena, at most. */
#define GZIP_ARENA_BYTES ((size_t)512 << 10)

/*
 * Begins a stream into the descriptor, which stays the caller's. NULL if the
 * arena is too small. [dump]
 */
struct gzip *gzip_open(struct arena *arena, int fd);
/* An error is kept and reported by gzip_close(). [dump] */
void gzip_write(struct gzip *gzip, const void *data, size_t size_bytes);
/* Ends the stream: 0, or the first error as a negative errno. [dump] */
int gzip_close(struct gzip *gzip);

#endif
