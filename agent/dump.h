/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump.h - writes one set of profiles: threads, allocs, heap, in that order.
 *
 *	capture    the thread that took the signal, the buckets' sums
 *	released() it may go on from here
 *	...        the other threads, encode, compress, publish
 *
 * Runs in the dump child (dump_child.c), or in the signal handler where no
 * child could be made. Touches neither errno nor thread-local memory. One at a
 * time.
 */
#ifndef HEAPAGENT_DUMP_H
#define HEAPAGENT_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "threads.h"
#include "unwind.h"

/* What the signal handler knows of the thread it interrupted. */
struct dump_origin {
	int tid; /* 0: no thread waits (a merged request, or at exit) */
	struct unwind_registers registers;
	uintptr_t thread_pointer;
	struct thread_call call; /* that the signal took it out of */
	uint64_t blocked;	 /* the signals that it had blocked before */
	bool may_stop;		 /* the dump may stop the other threads */
};

/* What a dump asks of whoever runs it. */
struct dump_host {
	/* Called once, when nothing more is wanted of the origin's thread;
	 * NULL: nobody waits for that. */
	void (*captured)(void);
	/*
	 * Called once, after that, when the first file has been created, also
	 * on failure; error is what has failed until then, or 0.
	 */
	void (*released)(int error);
	/* Called once, when no thread is held any more; NULL: nobody cares. */
	void (*read)(void);
	/* Lets a thread of the host ask the others by signal (threads.h), if
	 * one waits; NULL: none does. */
	void (*ask_by_signal)(struct threads *threads, uint64_t blocked);
	/* See threads.h; NULL: in the host itself, which cannot stop its own
	 * threads. */
	bool (*run_tracer)(void (*body)(void), uint64_t timeout_ns);
};

/*
 * One dump of the configured kinds under the next free sequence number. 0, or
 * the first negative errno; what can be written is written. [dump]
 */
int dump_write(const struct dump_origin *origin, const struct dump_host *host);

/* After a dump that was not finished: removes its temporary file, unmaps its
 * memory. Safe in a fault handler, any number of times. [dump] */
void dump_discard(void);

/* Removes its temporary file only: its memory is in use elsewhere. [dump] */
void dump_leave(void);

/* The process whose dumps these are, once dump_is_own(). [any] */
int dump_pid(void);

/*
 * True if this process is that; false in a child of vfork(), which has its
 * memory. In a forked child the process is asked for here, at the first
 * request, since no system call is made at the fork. [signal]
 */
bool dump_is_own(void);

/* Prepares names (executable, directory, comments). [init] */
int dump_init(void);
/* A forked child writes under its own PID, from 0001 on. [any] */
void dump_fork_child(void);

#endif
