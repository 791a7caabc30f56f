/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart.h - system calls that return EINTR although nothing concerned them.
 *
 * A signal handler interrupts what its thread waits in. The kernel restarts
 * much of that by itself (SA_RESTART), but not poll, epoll_wait, sleeps and
 * others (signal(7)). Where the kernel remembers how the call goes on, it is
 * told to (resume.h). Where the call can be made again without a difference,
 * the saved context is set back to it; where its result would differ, or it has
 * done a part, that is put right (repeat.h). Where its remaining time is not
 * known (a finite time-out that the kernel keeps to itself), EINTR stays.
 */
#ifndef HEAPAGENT_RESTART_H
#define HEAPAGENT_RESTART_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "arch/x86_64_context.h"
#include "restart_table.h"
#include "unwind.h"

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

/* Where a walk of the interrupted stack starts. After restart_begin().
 * [signal] */
struct unwind_registers restart_registers(const ucontext_t *context);

/* True if a call of the process pid has ended with a part of what it was to
 * transfer, and can be made again for the rest. [any] */
bool restart_is_part(int pid, const struct arch_call *call, long nr);

/*
 * Changes such a call, or one that has ended with EINTR, so that it is made
 * again. block is memory for that, see repeat_call(). Whether it was. [any]
 */
bool restart_again(struct arch_call *call, long nr, uintptr_t block);

/*
 * The number of the system call that the signal took its thread out of, or -1:
 * it was running. After restart_begin(). [signal]
 */
long restart_interrupted(const ucontext_t *context);

/*
 * To be called last in a signal handler, with what it was given: if the context
 * shows a call that ended for our signal's sake, lets it be made again, or go
 * on, in which case this does not return. Whether it did. Without info (NULL)
 * only one that ended with EINTR, and as it is: that takes fewer system calls,
 * where a filter may end the program for them. [signal]
 */
bool restart_call(ucontext_t *context, siginfo_t *info, uint64_t begin_ns);

#endif
