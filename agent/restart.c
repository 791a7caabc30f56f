/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart.c - how a call is found in a signal's context, and set back.
 *
 * If a signal of the host is pending, it may be what ended the call, and its
 * handler is still to run: then EINTR is the right answer. One that arrives
 * between that look and the end of our handler acts as if it had arrived just
 * before the call was made; so the look comes last.
 */
#include "restart.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "arch/x86_64_context.h"
#include "call_number.h"
#include "config.h"
#include "resume.h"
#include "sys.h"

#define SIGNALS 64

/* True if the host has a handler for the signal, and does not leave it to the
 * kernel, which may do no more than ignore it (SIGCHLD, SIGWINCH). */
static bool
has_handler(int nr)
{
	struct {
		uintptr_t handler;
		uint64_t others[3];
	} action; /* the kernel's */

	return sys_call4(SYS_rt_sigaction, nr, NULL, &action,
			 sizeof(uint64_t)) != 0 ||
	       (action.handler != (uintptr_t)SIG_DFL &&
		action.handler != (uintptr_t)SIG_IGN);
}

/* True if a handler of the host is about to run after ours. */
static bool
has_pending_handler(const ucontext_t *context)
{
	uint64_t pending = 0, blocked;

	(void)sys_call2(SYS_rt_sigpending, &pending, sizeof(pending));
	memcpy(&blocked, &context->uc_sigmask, sizeof(blocked));
	pending &= ~blocked & ~config_own_signals();
	for (int nr = 1; nr <= SIGNALS; nr++)
		if ((pending >> (nr - 1) & 1) != 0 && has_handler(nr))
			return true;
	return false;
}

static bool
may_be_made_again(long nr, const uint64_t *arguments)
{
	switch (restart_how(nr, arguments)) {
	case RESTART_UNKNOWN:
	case RESTART_NEVER:
		return false;
	default:
		return true;
	}
}

long
restart_number(long nr, uintptr_t ip, uintptr_t sp)
{
	long real = nr == SYS_restart_syscall ? call_number(ip, sp) : nr;

	return real < 0 ? nr : real;
}

void
restart_init(void)
{
	call_number_init();
}

void
restart_begin(ucontext_t *context)
{
	arch_context_allow_unaligned(context);
	resume_tidy(context);
}

long
restart_interrupted(const ucontext_t *context)
{
	struct arch_call call = arch_context_call(context);

	/* The kernel has set it back, as restart_call() does. */
	if (call_is_at(call.ip))
		return call.result;
	return call.result == -EINTR ? call_number(call.ip, call.sp) : -1;
}

bool
restart_call(ucontext_t *context, bool is_direct)
{
	struct arch_call call = arch_context_call(context);
	long nr;

	if (call.result != -EINTR || !is_direct || sys_is_filtered())
		return false;
	nr = call_number(call.ip, call.sp);
	if (nr >= 0 && restart_is_remembered(nr, call.arguments))
		resume_call(context); /* returns if it cannot be done */
	if (!may_be_made_again(nr, call.arguments) ||
	    has_pending_handler(context))
		return false;
	arch_context_rerun(context, nr);
	return true;
}
