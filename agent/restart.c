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
#include "repeat.h"
#include "resume.h"
#include "sys.h"
#include "transfer.h"

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
	return restart_timeout_argument(nr) >= 0 || transfer_is_known(nr);
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

bool
restart_is_part(int pid, const struct arch_call *call, long nr)
{
	/* One that is about to be made has its number where the result will
	 * be. */
	return call->result > 0 && call_ends_at(call->ip) &&
	       transfer_is_part(pid, nr, call->arguments, call->result);
}

bool
restart_again(struct arch_call *call, long nr, uintptr_t block)
{
	bool is_part = call->result > 0;

	if ((is_part || nr == SYS_connect) && repeat_call(call, nr, block))
		return true;
	if (is_part)
		return false;
	arch_call_rerun(call, nr);
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
	case RESTART_UNKNOWN: /* a transfer, or it would not be here */
		return call->result > 0;
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

static long
number_of(const struct arch_call *call, bool (*is_wanted)(long nr))
{
	long nr = repeat_number(call->ip, call->sp);

	return nr >= 0 ? nr : call_number(call->ip, call->sp, is_wanted);
}

/* True if the call has ended for a signal's sake. */
static bool
has_ended_early(const struct arch_call *call, long nr)
{
	return call->result == -EINTR ||
	       restart_is_part(sys_getpid(), call, nr);
}

uint64_t
restart_begin(ucontext_t *context)
{
	resume_tidy(context);
	if (arch_context_call(context).result != -EINTR)
		return 0;
	return sys_clock_ns(CLOCK_MONOTONIC);
}

struct unwind_registers
restart_registers(const ucontext_t *context)
{
	struct unwind_registers registers = arch_context_registers(context);

	repeat_registers(&registers,
			 (uintptr_t)context->uc_mcontext.gregs[REG_RCX]);
	return registers;
}

long
restart_interrupted(const ucontext_t *context)
{
	struct arch_call call = arch_context_call(context);
	long nr;

	/* The kernel has set it back, as restart_again() does. */
	if (call_is_at(call.ip))
		return call.result;
	nr = number_of(&call, is_any);
	return has_ended_early(&call, nr) ? nr : -1;
}

static bool
is_in(uintptr_t address, const stack_t *stack)
{
	return address - (uintptr_t)stack->ss_sp < stack->ss_size;
}

/*
 * Memory that the interrupted code's stack can begin below, when it goes on.
 * In the signal's frame that is what rt_sigreturn does not read; where the
 * frame lies on another stack, what is free below the interrupted one. 0 if we
 * were not called by the kernel (a sanitizer passes copies on, later).
 */
static uintptr_t
free_memory(const ucontext_t *context, const siginfo_t *info, uintptr_t sp)
{
	const stack_t *other = &context->uc_stack;
	bool is_elsewhere = (other->ss_flags & SS_DISABLE) == 0 &&
			    !is_in(sp, other) && is_in((uintptr_t)info, other);

	_Static_assert(sizeof(*info) >= REPEAT_BLOCK_BYTES, "the room there");
	if (!arch_is_signal_frame(context, info))
		return 0;
	return is_elsewhere ? arch_below_red_zone(sp, REPEAT_BLOCK_BYTES)
			    : (uintptr_t)info;
}

bool
restart_call(ucontext_t *context, siginfo_t *info, uint64_t begin_ns)
{
	struct arch_call call = arch_context_call(context);
	long nr;

	if (call.result != -EINTR && !(call.result > 0 && info != NULL))
		return false;
	nr = number_of(&call, is_known);
	if (nr < 0 || !has_ended_early(&call, nr))
		return false;
	if (call.result == -EINTR && restart_is_remembered(nr, call.arguments))
		resume_call(context); /* returns if it cannot be done */
	if (has_pending_signal(context) || !set_time(&call, nr, begin_ns) ||
	    !restart_again(&call, nr, free_memory(context, info, call.sp)))
		return false;
	arch_context_set_call(context, &call);
	return true;
}
