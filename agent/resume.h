/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume.h - a signal handler's end after which the kernel goes on with the
 * call that the signal interrupted, with the time that remains of it.
 *
 * The kernel keeps what it needs for that (the thread's restart block: of poll,
 * nanosleep, clock_nanosleep and futex) while the handler runs, and forgets it
 * in rt_sigreturn. So the handler does not return: it sets the registers back
 * by itself and jumps to the interrupted system call instruction, with the
 * number of restart_syscall(2) instead of the call's own. Nothing of ours
 * remains on the thread's stack, and nothing is written to it or below it. If a
 * handler of the host runs in between, its rt_sigreturn makes the kernel
 * forget, and the call returns EINTR, as it should.
 * docs/decisions/0005-restart.md has the reasons.
 *
 * It is not believed that all registers come back so: the first dump child, a
 * process of its own, tries it with all of them filled. Unless that has worked,
 * and with HEAPAGENT_RESUME=0, no call is gone on with.
 *
 * A handler that uses this must not make a call that has a restart block of its
 * own: no nanosleep, poll or FUTEX_WAIT with a time-out (sys.h has others).
 */
#ifndef HEAPAGENT_RESUME_H
#define HEAPAGENT_RESUME_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "unwind.h"

/*
 * To be called first in a signal handler: if the signal came while an earlier
 * one's handler was on its way to the call, or just before that call, makes the
 * context what it would be if the signal had interrupted the call. [signal]
 */
void resume_tidy(ucontext_t *context);

/*
 * To be called last in a signal handler that the kernel itself has called, with
 * all signals blocked, on a context of an interrupted call that has a restart
 * block; not under a seccomp filter, which may end the process for
 * restart_syscall. Returns only if it cannot be done. [signal]
 */
void resume_call(const ucontext_t *context);

/* The registers of the interrupted code, if these are of a thread that is on
 * its way back to it, as ptrace may see it. [any] */
void resume_registers(struct unwind_registers *registers,
		      uintptr_t thread_pointer);

/*
 * The trial, once: in a process of one thread that has no call to be restarted
 * (it has returned from a handler before), which the signal is not blocked in
 * and has resume_try_handler() for. tls_bytes: so much memory for thread-local
 * variables it has. [dump]
 */
void resume_try(int signal, size_t tls_bytes);
void resume_try_handler(int signal, siginfo_t *info, void *context);

/* Why no call is gone on with; NULL: they are. [any] */
const char *resume_refusal(void);

#endif
