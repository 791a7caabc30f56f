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
#include <time.h>

#include "arch/x86_64_context.h"
#include "call_number.h"
#include "compiler.h"
#include "config.h"
#include "resume.h"
#include "sys.h"

#define NS_PER_S UINT64_C(1000000000)
/* From some 292 years on nanoseconds do not fit; it does not matter then. */
#define SECONDS_MAX (UINT64_MAX / 2 / NS_PER_S)

/* True if a handler of the host is about to run after ours. */
static bool
has_pending_signal(const ucontext_t *context)
{
	const size_t set_bytes = 8;
	uint64_t pending = 0, blocked;

	(void)sys_call2(SYS_rt_sigpending, &pending, set_bytes);
	memcpy(&blocked, &context->uc_sigmask, sizeof(blocked));
	return (pending & ~blocked & ~config_own_signals()) != 0;
}

/* Of a name any number will do; what is made again is one of these. */
static bool
is_any(long nr)
{
	return nr >= 0;
}

static bool
is_known(long nr)
{
	return restart_timeout_argument(nr) >= 0;
}

long
restart_number(long nr, uintptr_t ip, uintptr_t sp)
{
	long real =
		nr == SYS_restart_syscall ? call_number(ip, sp, is_known) : nr;

	return real < 0 ? nr : real;
}

/*
 * Takes the handler's own time off the remaining time that the kernel has
 * written, in nanoseconds or, for select, microseconds. False if that memory
 * cannot be written: then the kernel could not either.
 */
static bool
take_off(long nr, uint64_t address, uint64_t spent_ns)
{
	uint64_t unit_ns = nr == SYS_select ? 1000 : 1;
	uint64_t time[2], all_ns; /* seconds, and the rest */

	if (!sys_readable(address) || !sys_readable(address + sizeof(time) - 1))
		return false;
	memcpy(time, (const void *)address, sizeof(time));
	if (!sys_overwrite(address) ||
	    !sys_overwrite(address + sizeof(time[0])))
		return false;
	all_ns = time[0] * NS_PER_S + time[1] * unit_ns;
	if (time[0] < SECONDS_MAX) {
		all_ns -= MIN(all_ns, spent_ns);
		time[0] = all_ns / NS_PER_S;
		time[1] = all_ns % NS_PER_S / unit_ns;
	}
	memcpy((void *)address, time, sizeof(time));
	return true;
}

/* Takes the time that remains into account: false if it is not known. */
static bool
set_time(struct arch_call *call, long nr, uint64_t begin_ns)
{
	enum restart how = restart_how(nr, call->arguments);
	unsigned timeout = (unsigned)restart_timeout_argument(nr);
	uint64_t spent_ns = sys_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	uint64_t remaining;

	switch (how) {
	case RESTART_UNKNOWN:
	case RESTART_NEVER:
		return false;
	case RESTART_LESS:
		return take_off(nr, call->arguments[timeout], spent_ns);
	case RESTART_REMAINING:
		/* The kernel has written what remains where the caller wants
		 * it; the call reads its request from there. */
		remaining = call->arguments[timeout + 1];
		call->arguments[timeout] = remaining;
		return take_off(nr, remaining, spent_ns);
	default:
		return true;
	}
}

uint64_t
restart_begin(ucontext_t *context)
{
	resume_tidy(context);
	if (arch_context_call(context).result != -EINTR)
		return 0;
	return sys_clock_ns(CLOCK_MONOTONIC);
}

long
restart_interrupted(const ucontext_t *context)
{
	struct arch_call call = arch_context_call(context);

	/* The kernel has set it back, as restart_call() does. */
	if (call_is_at(call.ip))
		return call.result;
	return call.result == -EINTR ? call_number(call.ip, call.sp, is_any)
				     : -1;
}

bool
restart_call(ucontext_t *context, uint64_t begin_ns)
{
	struct arch_call call = arch_context_call(context);
	long nr;

	if (call.result != -EINTR)
		return false;
	nr = call_number(call.ip, call.sp, is_known);
	if (nr < 0)
		return false;
	if (restart_is_remembered(nr, call.arguments))
		resume_call(context); /* returns if it cannot be done */
	if (has_pending_signal(context) || !set_time(&call, nr, begin_ns))
		return false;
	arch_call_rerun(&call, nr);
	arch_context_set_call(context, &call);
	return true;
}
