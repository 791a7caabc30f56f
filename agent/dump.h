/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump.h - writes one set of profiles: threads, allocs, heap, in that order.
 *
 *	dump_capture   the thread that took the signal, the buckets' sums
 *	dump_release   it may go on from here
 *	...            the other threads, encode, compress, publish
 *
 * Runs in the dump child (dump_child.c), or in the signal handler where no
 * child could be made. Touches neither errno nor thread-local memory.
 */
#ifndef HEAPAGENT_DUMP_H
#define HEAPAGENT_DUMP_H

#include <stdint.h>

#include "unwind.h"

/* What the signal handler knows of the thread it interrupted. */
struct dump_origin {
	int tid; /* 0: no thread waits (a merged request, or at exit) */
	struct unwind_registers registers;
	uintptr_t thread_pointer;
};

/*
 * One dump of the configured kinds under the next free sequence number.
 * released is called once, as soon as the origin's thread may go on, also on
 * failure. 0, or the first negative errno; what can be written is written.
 * [dump]
 */
int dump_write(const struct dump_origin *origin, void (*released)(void));

/* Prepares names (executable, directory, comments). [init] */
int dump_init(void);
/* A forked child writes under its own PID, from 0001 on. [any] */
void dump_fork_child(void);

#endif
