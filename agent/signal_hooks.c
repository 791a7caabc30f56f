/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_hooks.c - sigaction() and the older ways to say the same; see
 * signal_hooks.h.
 *
 * No system call is added and no argument changed. A handler that is installed
 * past libc (Go's os/signal in a shared library) is not seen, nor is one by a
 * library opened with RTLD_DEEPBIND.
 */
#include "signal_hooks.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "atomics.h"
#include "compiler.h"
#include "outside.h"
#include "symbol.h"

/* glibc's other names: __sysv_signal is signal() under _XOPEN_SOURCE. */
#define FUNCTIONS(X) \
	X(signal) \
	X(bsd_signal) \
	X(ssignal) \
	X(sysv_signal) \
	X(__sysv_signal) \
	X(sigset)

typedef int sigaction_function(int, const struct sigaction *,
			       struct sigaction *);
typedef sighandler_t signal_function(int, sighandler_t);

/* Not in glibc's headers, or not any more. */
sigaction_function __sigaction;
signal_function bsd_signal;

/* Each atomic, relaxed: whoever looks one up finds the same. */
static struct {
	sigaction_function *sigaction;
	sigaction_function *__sigaction;
#define MEMBER(name) signal_function *name;
	FUNCTIONS(MEMBER)
#undef MEMBER
} next;

/*
 * The real function. Looked up here only by a constructor that runs before
 * ours.
 */
#define NEXT(name) \
	({ \
		__typeof__(next.name) found = atomic_load_relaxed(&next.name); \
		if (unlikely(found == NULL)) { \
			int saved = errno; \
			found = (__typeof__(next.name))symbol_next(#name); \
			atomic_store_relaxed(&next.name, found); \
			errno = saved; \
		} \
		found; \
	})

void
signal_hooks_resolve(void)
{
	(void)NEXT(sigaction);
	(void)NEXT(__sigaction);
#define RESOLVE(name) (void)NEXT(name);
	FUNCTIONS(RESOLVE)
#undef RESOLVE
}

/* Others are SIG_DFL, SIG_IGN, SIG_HOLD and SIG_ERR. */
static bool
is_function(sighandler_t handler)
{
	return (uintptr_t)handler > 2 && handler != SIG_ERR;
}

static int
change_action(sigaction_function *real, int nr, const struct sigaction *action,
	      struct sigaction *before)
{
	struct outside_change change;
	int result;

	if (action == NULL || !outside_is_noted(nr) ||
	    !is_function(action->sa_handler))
		return real(nr, action, before);
	change = outside_changing((uintptr_t)action->sa_handler);
	result = real(nr, action, before);
	outside_changed(&change, result == 0);
	return result;
}

EXPORT int
sigaction(int nr, const struct sigaction *action, struct sigaction *before)
{
	return change_action(NEXT(sigaction), nr, action, before);
}

EXPORT int
__sigaction(int nr, const struct sigaction *action, struct sigaction *before)
{
	return change_action(NEXT(__sigaction), nr, action, before);
}

static sighandler_t
change_handler(signal_function *real, int nr, sighandler_t handler)
{
	struct outside_change change;
	sighandler_t result;

	if (!outside_is_noted(nr) || !is_function(handler))
		return real(nr, handler);
	change = outside_changing((uintptr_t)handler);
	result = real(nr, handler);
	outside_changed(&change, result != SIG_ERR);
	return result;
}

#define HOOK(name) \
	EXPORT sighandler_t name(int nr, sighandler_t handler) \
	{ \
		return change_handler(NEXT(name), nr, handler); \
	}
FUNCTIONS(HOOK)
