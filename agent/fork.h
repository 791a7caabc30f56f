/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.h - notices that this process is a fork of the one we started in.
 *
 * A page that the kernel clears in the child of a fork (MADV_WIPEONFORK, Linux
 * 4.14) tells, with one load and without a system call, or an
 * effect on vfork and posix_spawn, whose children share our memory.
 */
#ifndef HEAPAGENT_FORK_H
#define HEAPAGENT_FORK_H

#include <stdbool.h>
#include <stdint.h>

#include "atomics.h"
#include "compiler.h"

/*
 * child runs once in each forked child, in the first thread that gets to
 * fork_check(), before that returns. [init]
 */
void fork_init(void (*child)(void));

/*
 * before runs in each thread that calls fork(), in its child right after it.
 * Not around vfork(), posix_spawn(), _Fork() and clone() by itself. Two
 * entries of libc's list, which has room for 48 without memory of its own.
 * [init]
 */
void fork_watch(void (*before)(void), void (*in_child)(void));

/* Atomic, in the page that is wiped: 1, and 0 in a child that is news. */
extern HIDDEN uint32_t *fork_alive;

/* The slow half of fork_check(). [any] */
void fork_noticed(void);

/* Runs the child's function if this is a new fork. [any] */
static inline void
fork_check(void)
{
	/* Relaxed: the kernel cleared it before the child ran at all. */
	if (unlikely(atomic_load_relaxed(fork_alive) == 0))
		fork_noticed();
}

#endif
