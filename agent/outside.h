/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outside.h - what only the agent knows, for who looks from outside: whether
 * the handler of the dump signal is its own, and why the last dump failed.
 *
 * /proc says that a signal is caught, but not by whom, and the kernel answers
 * rt_sigaction() to the process itself alone. A signal that is sent where the
 * handler is another's does what the program means by it: a JVM dies, nginx
 * starts its successor. So the hooks of libc's sigaction() and its like
 * (signal_hooks.c) note here what the program does with that one signal,
 * without a system call. What is SIG_DFL or SIG_IGN is not noted: /proc says
 * so, and a child of vfork(), which has this memory but not these handlers,
 * resets many.
 */
#ifndef HEAPAGENT_OUTSIDE_H
#define HEAPAGENT_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

/* The region's table "outside", of one entry. */
struct outside {
	uint32_t handler; /* atomic: OUTSIDE_*, and the changes so far above */
	int32_t dump_error; /* atomic: a negative errno, or 0 */
};
#define OUTSIDE_HAS_BEGUN 1U   /* the constructor is through, */
#define OUTSIDE_IS_IN 2U       /* the agent's handler was installed, and */
#define OUTSIDE_IS_ANOTHERS 4U /* the program has installed one over it */
#define OUTSIDE_CHANGE 8U

/* Makes the table. 0 or -ENOMEM. [init] */
int outside_init(void);

/* The agent's handler of the signal is in; to be noted from now on. [init] */
void outside_installed(int signal, uintptr_t handler);
/* The signal is set up, or not. [init] */
void outside_has_begun(void);
/* It does not answer any more, in a forked child that is left alone. [any] */
void outside_left_alone(void);

/* True of the signal whose handlers are noted. [any] */
bool outside_is_noted(int signal);

struct outside_change {
	uint32_t before;
	uint32_t during;
	bool ours;
};
/*
 * Around the call that gives the noted signal a handler, which is a function;
 * done: the call succeeded. Of several at a time the agent's counts as the last
 * only if it was. [any]
 */
struct outside_change outside_changing(uintptr_t handler);
void outside_changed(const struct outside_change *change, bool done);

/* Why a dump failed: a negative errno. [dump] */
void outside_dump_failed(int error);

#endif
