/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_comments.h - what each profile of a dump says about the dump itself:
 * when it was taken, by which version, of which program, and every counter.
 */
#ifndef HEAPAGENT_DUMP_COMMENTS_H
#define HEAPAGENT_DUMP_COMMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "counters.h"
#include "heap_profile.h"
#include "pprof.h"
#include "threads.h"

#define DUMP_THREADS_MAX 256

/* The state that all profiles of one dump show. */
struct dump_moment {
	uint64_t realtime_ns;
	uint64_t profiled_ms; /* since the start; a comment, no duration */
	uint64_t samples;
	uint64_t stacks; /* (stack, size class) pairs */
	uint64_t region_used_bytes;
	uint64_t counters[COUNTER_COUNT];
	/* How the threads were read, see threads_tell_how(); "": not asked. */
	char threads[DUMP_THREADS_MAX];
	char refusal[DUMP_THREADS_MAX];
};

/* Everything but the counters, when the rows were captured. [dump] */
void dump_moment_take(struct dump_moment *moment, const struct heap_rows *rows);
/* The counters, when the threads were, so that they tell how; NULL: no threads
 * were. [dump] */
void dump_moment_count(struct dump_moment *moment,
		       const struct threads *threads);

/* A longer command line is cut: it stands in each file. */
#define DUMP_COMMAND_LINE_MAX 4096
/* The process's arguments with spaces between them, on one line. False if
 * there are none. [dump] */
bool dump_command_line(char text[DUMP_COMMAND_LINE_MAX]);

/* Adds the comments. [dump] */
void dump_comments_write(struct pprof *pprof, const struct dump_moment *moment);

#endif
