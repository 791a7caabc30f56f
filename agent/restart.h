/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart.h - system calls that return EINTR although nothing concerned them.
 *
 * A signal handler interrupts what its thread waits in. The kernel restarts
 * much of that by itself (SA_RESTART), but not poll, epoll_wait, sleeps and
 * others (signal(7)). Where the kernel remembers how the call goes on, it is
 * told to (resume.h). Where the call can be made again without a difference,
 * the saved context is set back to it. Where its remaining time is not known
 * (a finite time-out that the kernel keeps to itself), EINTR stays.
 */
#ifndef HEAPAGENT_RESTART_H
#define HEAPAGENT_RESTART_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

enum restart {
	RESTART_UNKNOWN,   /* not in the table: leave it to the kernel */
	RESTART_AS_IS,	   /* the same call again */
	RESTART_ANEW,	   /* the same; its time-out, if any, begins anew */
	RESTART_LESS,	   /* the same; what remains of its time was written */
	RESTART_REMAINING, /* a sleep whose remaining time was written */
	RESTART_NEVER,	   /* a time-out of unknown remainder */
};

/* What to do about an interrupted call with these six arguments. [any] */
enum restart restart_how(long nr, const uint64_t *arguments);

/*
 * True if the call returns EINTR even if no handler runs: when the thread is
 * stopped by ptrace and goes on. [any]
 */
bool restart_notices_stop(long nr);

/*
 * The number of the call that a thread is blocked in at ip (after the system
 * call instruction) with stack pointer sp: nr, but where that is
 * restart_syscall the call that goes on. nr if it is not known. [any]
 */
long restart_number(long nr, uintptr_t ip, uintptr_t sp);

/*
 * To be called first in a signal handler: sets the context right if the signal
 * interrupted the end of another handler of ours. The time, for restart_call().
 * [signal]
 */
uint64_t restart_begin(ucontext_t *context);

/*
 * To be called last in a signal handler: if the context shows a call that
 * ended with EINTR for our signal's sake, lets it be made again, or go on, in
 * which case this does not return. Whether it did. [signal]
 */
bool restart_call(ucontext_t *context, uint64_t begin_ns);

#endif
