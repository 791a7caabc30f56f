/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart.h - system calls that return EINTR although nothing concerned them.
 *
 * A signal handler interrupts what its thread waits in. The kernel restarts
 * much of that by itself (SA_RESTART), but not poll, epoll_wait, sleeps and
 * others (signal(7)). Where the kernel remembers how the call goes on, it is
 * told to (resume.h). Where the call can be made again without a difference,
 * the saved context is set back to it. Where its remaining time is not known (a
 * finite time-out that the kernel keeps to itself), EINTR stays; and a call
 * that has done a part returns that, as after any signal.
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

/* Finds out where libc's calls are made. [init] */
void restart_init(void);

/*
 * To be called first in a signal handler: sets the context right if the signal
 * interrupted the end of another handler of ours, and takes off what compiled
 * code may not bear. [signal]
 */
void restart_begin(ucontext_t *context);

/*
 * The number of the system call that the signal took its thread out of, or -1:
 * it was running. After restart_begin(). [signal]
 */
long restart_interrupted(const ucontext_t *context);

/*
 * In a signal handler: true if the kernel itself has called it with this
 * context, which lies where the kernel has put it. Whatever wraps sigaction()
 * (ThreadSanitizer) has something to do after our handler.
 */
#define RESTART_IS_DIRECT(context) (__builtin_dwarf_cfa() == (void *)(context))

/*
 * To be called last in a signal handler: if the context shows a call that ended
 * with EINTR for our signal's sake, lets it be made again, or go on, in which
 * case this does not return. Whether it did. Nothing is done if the kernel has
 * not called the handler (is_direct, as above), or under a seccomp filter.
 * [signal]
 */
bool restart_call(ucontext_t *context, bool is_direct);

#endif
