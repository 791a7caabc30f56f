/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h - which seccomp filters the process is under.
 *
 * A filter may end the process for any call that it does not know, also for the
 * one that asks whether there is a filter. So a program that puts itself under
 * one through libc, prctl() or syscall(), is seen doing so: these two are
 * hooked, which costs a comparison and a jump. One that makes the call with
 * code of its own is found by asking.
 */
#ifndef HEAPAGENT_SANDBOX_H
#define HEAPAGENT_SANDBOX_H

#include <stdbool.h>

/* Notes what the process is under already, as in a container. [init] */
void sandbox_init(void);

/* True if there was a filter before us: it lets pass what a plain program asks
 * for. Others, ptrace above all, it may end the process for. [any] */
bool sandbox_at_start(void);

/*
 * True if the program has entered a sandbox of its own since: then no call may
 * be made. Where it was seen to, none is made here. [any]
 */
bool sandbox_is_new(void);

/* The same without asking: what was seen by way of libc alone. No call is made.
 * [any] */
bool sandbox_was_seen(void);

/* True if the program has said through libc who may trace it. [any] */
bool sandbox_has_ptracer(void);

#endif
