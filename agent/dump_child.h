/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_child.h - a process that shares the host's memory but not its fate.
 *
 *	host thread ──clone──► helper ──clone──► dump child
 *	     │                   │ exits at once     │ belongs to init from then
 *	     └──reaps the helper─┘                   └ exits, reaped by init
 *
 * So the host's thread waits only for the helper (some 100 us), no child of
 * the host remains, and nobody has to be there when the dump child ends. A
 * host that is itself the reaper of orphans (PID 1 or a child subreaper) would
 * get the dump child back, with SIGCHLD: there is no helper then, and what is
 * left of the child stays until the next dump begins. It is a child that only
 * __WALL shows.
 *
 * The child shares memory only: its descriptors, its signal handlers and its
 * limits are its own. It holds none of the host's descriptors open. A fault
 * ends it, not the host, and without a core dump: before Linux 5.16 one ends
 * all who share the memory. One child at a time; the caller sees to that.
 */
#ifndef HEAPAGENT_DUMP_CHILD_H
#define HEAPAGENT_DUMP_CHILD_H

#include <stdbool.h>
#include <stdint.h>

/* Maps the stacks, with guards between them, unless they are there: 0 or a
 * negative errno. [init] [signal] */
int dump_child_init(void);

/*
 * Marks the child as there, so that dump_child_alive() is true from now on;
 * first waits until one that has just ended is off its stack. False if it
 * does not leave (it was stopped): then there can be no other. [signal]
 */
bool dump_child_prepare(void);

/*
 * Runs body in a child. If body faults, faulted runs in the child and the
 * child exits. 0, or a negative errno and no child; it is still marked as
 * there then, for dump_child_in_place(). All signals must be blocked. [signal]
 */
int dump_child_start(void (*body)(void), void (*faulted)(void));

/*
 * In the child: runs body in a thread beside this one and waits for its end, or
 * ends it after timeout_ns. What it traces is let go then. False: there is
 * none. [dump]
 */
bool dump_child_beside(void (*body)(void), uint64_t timeout_ns);

/* Runs body in this thread, on the dump stack. [signal] */
void dump_child_in_place(void (*body)(void));

/* Runs body in this thread on a stack for what starts a dump: the interrupted
 * one may have no room left. For one thread at a time. [signal] */
void dump_child_starter_stack(void (*body)(void));

/* Takes the mark back where no child runs. [signal] */
void dump_child_unmark(void);

/* True from dump_child_prepare() on until the child no longer exists, however
 * it ended: the kernel takes the mark back. [any] */
bool dump_child_alive(void);

/* The child's process ID; 0 if there is none. [any] */
int dump_child_pid(void);

/* Waits at most timeout_ns until no child is there: whether so. [any] */
bool dump_child_wait_gone(uint64_t timeout_ns);

/* Forgets the parent's child, in a forked child. [any] */
void dump_child_forget(void);

#endif
