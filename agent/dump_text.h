/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_text.h - one profile of a dump as legacy text: figures, comments,
 * mappings, in this order.
 */
#ifndef HEAPAGENT_DUMP_TEXT_H
#define HEAPAGENT_DUMP_TEXT_H

#include "arena.h"
#include "dump_comments.h"
#include "heap_profile.h"
#include "text_profile.h"
#include "thread_profile.h"

struct dump_text {
	const char *kind; /* "heap", for the comments */
	/* One of the two: */
	const struct threads *threads;
	const struct heap_rows *rows;
	const struct dump_moment *moment;
	int pid; /* the profiled process */
};

/* What dump_text_write() takes from an arena, at most. */
#define DUMP_TEXT_ARENA_BYTES (TEXT_ARENA_BYTES + TEXT_PROFILE_ARENA_BYTES)

/* Writes it to the descriptor. 0 or a negative errno. [dump] */
int dump_text_write(const struct dump_text *dump, struct arena *arena, int fd);

#endif
