/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart_table.h - what becomes of a system call that a signal or a stop by
 * ptrace interrupts. Constant data; the command uses it, too.
 */
#ifndef HEAPAGENT_RESTART_TABLE_H
#define HEAPAGENT_RESTART_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum restart {
	RESTART_UNKNOWN, /* not in the table: leave it to the kernel */
	RESTART_AS_IS,	 /* the same call again */
	RESTART_ANEW,	 /* the same; its time-out, if any, begins anew */
	RESTART_PART,	 /* the same, if it has not done a part yet */
	RESTART_LESS,	 /* the same; what remains of its time was written */
	RESTART_NEVER,	 /* a time-out of unknown remainder */
};

/* What to do about an interrupted call with these six arguments. [any] */
enum restart restart_how(long nr, const uint64_t *arguments);

/* True if the call says EINTR when its thread is stopped by ptrace and goes on,
 * though no handler runs, and can be made again then. [any] */
bool restart_follows_stop(long nr);

/*
 * True if the kernel has remembered in the thread's restart block how the call
 * goes on: these four always do where they end with EINTR. [any]
 */
bool restart_is_remembered(long nr, const uint64_t *arguments);

#endif
