/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart.c - which calls, and how they are found in a signal's context.
 *
 * If a signal of the host is pending, it may be what ended the call, and its
 * handler is still to run: then EINTR is the right answer. One that arrives
 * between that look and the end of our handler acts as if it had arrived just
 * before the call was made; so the look comes last.
 *
 * The table follows signal(7), "Interruption of system calls and library
 * functions by signal handlers", and the kernel's sources.
 */
#include "restart.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "arch/x86_64_context.h"
#include "call_number.h"
#include "compiler.h"
#include "resume.h"
#include "sys.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_io_uring_enter
#define SYS_io_uring_enter 426
#endif
/* io_uring_enter(2): the last arguments describe a time-out. */
#define URING_EXT_ARG 8

#define NS_PER_S UINT64_C(1000000000)
/* From some 292 years on nanoseconds do not fit; it does not matter then. */
#define SECONDS_MAX (UINT64_MAX / 2 / NS_PER_S)

enum form {
	FORM_ALWAYS,   /* no time-out */
	FORM_SOCKET,   /* that of a socket, which is no argument */
	FORM_NEGATIVE, /* argument `timeout`: milliseconds, negative: none */
	FORM_POINTER,  /* argument `timeout`: a pointer, NULL: none */
	FORM_WRITTEN,  /* the same; what remains is written there */
	FORM_SLEEP, /* clock_nanosleep, nanosleep: `timeout` is the request */
	FORM_FUTEX,
	FORM_URING,
};

struct call {
	uint16_t nr;
	uint8_t form;
	uint8_t timeout;
	bool notices_stop;
};

static const struct call calls[] = {
	{ SYS_pause, FORM_ALWAYS, 0, false },
	{ SYS_rt_sigsuspend, FORM_ALWAYS, 0, false },
	{ SYS_poll, FORM_NEGATIVE, 2, false },
	{ SYS_ppoll, FORM_WRITTEN, 2, false },
	{ SYS_select, FORM_WRITTEN, 4, false },
	{ SYS_pselect6, FORM_WRITTEN, 4, false },
	{ SYS_epoll_wait, FORM_NEGATIVE, 3, true },
	{ SYS_epoll_pwait, FORM_NEGATIVE, 3, true },
	{ SYS_epoll_pwait2, FORM_POINTER, 3, true },
	{ SYS_rt_sigtimedwait, FORM_POINTER, 2, true },
	{ SYS_nanosleep, FORM_SLEEP, 0, false },
	{ SYS_clock_nanosleep, FORM_SLEEP, 2, false },
	{ SYS_futex, FORM_FUTEX, 3, false },
	{ SYS_semop, FORM_ALWAYS, 0, true },
	{ SYS_semtimedop, FORM_POINTER, 3, true },
	{ SYS_msgrcv, FORM_ALWAYS, 0, true },
	{ SYS_msgsnd, FORM_ALWAYS, 0, true },
	{ SYS_io_getevents, FORM_POINTER, 4, true },
	{ SYS_io_pgetevents, FORM_POINTER, 4, true },
	{ SYS_io_uring_enter, FORM_URING, 0, true },
	/*
	 * Of a socket with SO_RCVTIMEO or SO_SNDTIMEO (the kernel restarts
	 * the others). The time-out begins anew.
	 */
	{ SYS_read, FORM_SOCKET, 0, true },
	{ SYS_readv, FORM_SOCKET, 0, true },
	{ SYS_write, FORM_SOCKET, 0, true },
	{ SYS_writev, FORM_SOCKET, 0, true },
	{ SYS_accept, FORM_SOCKET, 0, true },
	{ SYS_accept4, FORM_SOCKET, 0, true },
	{ SYS_connect, FORM_SOCKET, 0, true },
	{ SYS_recvfrom, FORM_SOCKET, 0, true },
	{ SYS_recvmsg, FORM_SOCKET, 0, true },
	{ SYS_sendto, FORM_SOCKET, 0, true },
	{ SYS_sendmsg, FORM_SOCKET, 0, true },
	{ SYS_recvmmsg, FORM_SOCKET, 0, true },
	{ SYS_sendmmsg, FORM_SOCKET, 0, true },
};

static const struct call *
find(long nr)
{
	for (unsigned i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].nr == nr)
			return &calls[i];
	return NULL;
}

static bool
is_known(long nr)
{
	return find(nr) != NULL;
}

bool
restart_notices_stop(long nr)
{
	const struct call *call = find(nr);

	return call != NULL && call->notices_stop;
}

static enum restart
how_sleep(const struct call *call, const uint64_t *arguments)
{
	bool absolute = call->nr == SYS_clock_nanosleep &&
			(arguments[1] & TIMER_ABSTIME) != 0;

	if (absolute)
		return RESTART_AS_IS;
	return arguments[call->timeout + 1] != 0 ? RESTART_REMAINING
						 : RESTART_NEVER;
}

static enum restart
how_futex(const uint64_t *arguments)
{
	int operation = (int)arguments[1] & FUTEX_CMD_MASK;

	/* WAIT's time is relative, WAIT_BITSET's is absolute. */
	if (operation == FUTEX_WAIT_BITSET)
		return RESTART_AS_IS;
	if (operation == FUTEX_WAIT)
		return arguments[3] == 0 ? RESTART_AS_IS : RESTART_NEVER;
	return RESTART_UNKNOWN;
}

enum restart
restart_how(long nr, const uint64_t *arguments)
{
	const struct call *call = find(nr);
	bool endless = true;

	if (call == NULL)
		return RESTART_UNKNOWN;
	switch ((enum form)call->form) {
	case FORM_ALWAYS:
		break;
	case FORM_SOCKET:
		return RESTART_ANEW;
	case FORM_NEGATIVE:
		endless = (int)arguments[call->timeout] < 0;
		break;
	case FORM_POINTER:
		endless = arguments[call->timeout] == 0;
		break;
	case FORM_WRITTEN:
		if (arguments[call->timeout] != 0)
			return RESTART_LESS;
		break;
	case FORM_SLEEP:
		return how_sleep(call, arguments);
	case FORM_FUTEX:
		return how_futex(arguments);
	case FORM_URING:
		endless = (arguments[3] & URING_EXT_ARG) == 0;
		break;
	}
	return endless ? RESTART_AS_IS : RESTART_NEVER;
}

/* True if a handler of the host is about to run after ours. */
static bool
has_pending_signal(const ucontext_t *context)
{
	const size_t set_bytes = 8;
	uint64_t pending = 0, blocked;

	(void)sys_call2(SYS_rt_sigpending, &pending, set_bytes);
	memcpy(&blocked, &context->uc_sigmask, sizeof(blocked));
	return (pending & ~blocked) != 0;
}

long
restart_number(long nr, uintptr_t ip, uintptr_t sp)
{
	long real =
		nr == SYS_restart_syscall ? call_number(ip, sp, is_known) : nr;

	return real < 0 ? nr : real;
}

/*
 * True if the kernel has remembered in the thread's restart block how the call
 * goes on: these four always do where they end with EINTR.
 */
static bool
is_remembered(long nr, const uint64_t *arguments)
{
	switch (nr) {
	case SYS_poll:
	case SYS_nanosleep:
		return true;
	case SYS_clock_nanosleep:
		return (arguments[1] & TIMER_ABSTIME) == 0;
	case SYS_futex: {
		int operation = (int)arguments[1] & FUTEX_CMD_MASK;

		return arguments[3] != 0 && (operation == FUTEX_WAIT ||
					     operation == FUTEX_WAIT_BITSET);
	}
	default:
		return false;
	}
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

/* Sets the context back so that the call is made again: whether it can be. */
static bool
set_back(ucontext_t *context, const struct arch_call *call, long nr,
	 uint64_t begin_ns)
{
	enum restart how = restart_how(nr, call->arguments);
	unsigned timeout = find(nr)->timeout;
	uint64_t spent_ns;

	if (how == RESTART_UNKNOWN || how == RESTART_NEVER ||
	    has_pending_signal(context))
		return false;
	spent_ns = sys_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	if (how == RESTART_LESS &&
	    !take_off(nr, call->arguments[timeout], spent_ns))
		return false;
	/* The kernel has written what remains where the caller wants it; the
	 * call reads its request from there. */
	if (how == RESTART_REMAINING) {
		uint64_t remaining = call->arguments[timeout + 1];

		if (!take_off(nr, remaining, spent_ns))
			return false;
		arch_context_set_argument(context, timeout, remaining);
	}
	arch_context_rerun(context, nr);
	return true;
}

uint64_t
restart_begin(ucontext_t *context)
{
	resume_tidy(context);
	if (arch_context_call(context).result != -EINTR)
		return 0;
	return sys_clock_ns(CLOCK_MONOTONIC);
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
	if (is_remembered(nr, call.arguments))
		resume_call(context); /* returns if it cannot be done */
	return set_back(context, &call, nr, begin_ns);
}
