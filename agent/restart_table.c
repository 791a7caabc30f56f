/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart_table.c - which calls, and which of their arguments is the time-out.
 *
 * The table follows signal(7), "Interruption of system calls and library
 * functions by signal handlers", and the kernel's sources.
 */
#include "restart_table.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "compiler.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_io_uring_enter
#define SYS_io_uring_enter 426
#endif
/* io_uring_enter(2), argument 3: the last arguments describe a time-out. */
#define URING_EXT_ARG 8

enum form {
	FORM_ALWAYS,   /* no time-out */
	FORM_SOCKET,   /* that of a socket, which is no argument */
	FORM_RECEIVE,  /* the same; argument `timeout`: flags */
	FORM_TRANSFER, /* the same; may have done a part */
	FORM_NEGATIVE, /* argument `timeout`: milliseconds, negative: none */
	FORM_POINTER,  /* argument `timeout`: a pointer, NULL: none */
	FORM_WRITTEN,  /* the same; what remains is written there */
	FORM_SLEEP, /* clock_nanosleep, nanosleep: `timeout` is the request */
	FORM_FUTEX,
	FORM_EVENTS, /* io_getevents: as FORM_POINTER; at least argument 1 */
	FORM_URING,
	FORM_ONCE, /* the second one would say or do something else */
};

/* If its thread is stopped by ptrace and goes on: */
enum {
	STOP_NOTHING = 0, /* the kernel goes on with it, or it is not for us */
	STOP_EINTR = 1,	  /* it says EINTR, and may be made again */
};

struct call {
	uint16_t nr;
	uint8_t form;
	uint8_t timeout;
	uint8_t stopped;
};

static const struct call calls[] = {
	{ SYS_pause, FORM_ALWAYS, 0, STOP_NOTHING },
	{ SYS_rt_sigsuspend, FORM_ALWAYS, 0, STOP_NOTHING },
	{ SYS_poll, FORM_NEGATIVE, 2, STOP_NOTHING },
	{ SYS_ppoll, FORM_WRITTEN, 2, STOP_NOTHING },
	{ SYS_select, FORM_WRITTEN, 4, STOP_NOTHING },
	{ SYS_pselect6, FORM_WRITTEN, 4, STOP_NOTHING },
	{ SYS_epoll_wait, FORM_NEGATIVE, 3, STOP_EINTR },
	{ SYS_epoll_pwait, FORM_NEGATIVE, 3, STOP_EINTR },
	{ SYS_epoll_pwait2, FORM_POINTER, 3, STOP_EINTR },
	{ SYS_rt_sigtimedwait, FORM_POINTER, 2, STOP_EINTR },
	{ SYS_nanosleep, FORM_SLEEP, 0, STOP_NOTHING },
	{ SYS_clock_nanosleep, FORM_SLEEP, 2, STOP_NOTHING },
	{ SYS_futex, FORM_FUTEX, 3, STOP_NOTHING },
	{ SYS_semop, FORM_ALWAYS, 0, STOP_EINTR },
	{ SYS_semtimedop, FORM_POINTER, 3, STOP_EINTR },
	{ SYS_msgrcv, FORM_ALWAYS, 0, STOP_EINTR },
	{ SYS_msgsnd, FORM_ALWAYS, 0, STOP_EINTR },
	{ SYS_io_getevents, FORM_EVENTS, 4, STOP_EINTR },
	{ SYS_io_pgetevents, FORM_EVENTS, 4, STOP_EINTR },
	{ SYS_io_uring_enter, FORM_URING, 0, STOP_EINTR },
	/* With SO_SNDTIMEO. Made again it would say EALREADY. */
	{ SYS_connect, FORM_ONCE, 0, STOP_NOTHING },
	/*
	 * Of a socket with SO_RCVTIMEO or SO_SNDTIMEO (the kernel restarts
	 * the others). The time-out begins anew.
	 *
	 * Of any pipe or socket those that have transferred a part return that,
	 * stopped or signalled.
	 */
	{ SYS_read, FORM_SOCKET, 0, STOP_EINTR },
	{ SYS_readv, FORM_SOCKET, 0, STOP_EINTR },
	{ SYS_write, FORM_TRANSFER, 0, STOP_EINTR },
	{ SYS_writev, FORM_TRANSFER, 0, STOP_EINTR },
	{ SYS_accept, FORM_SOCKET, 0, STOP_EINTR },
	{ SYS_accept4, FORM_SOCKET, 0, STOP_EINTR },
	{ SYS_recvfrom, FORM_RECEIVE, 3, STOP_EINTR },
	{ SYS_recvmsg, FORM_RECEIVE, 2, STOP_EINTR },
	{ SYS_sendto, FORM_TRANSFER, 0, STOP_EINTR },
	{ SYS_sendmsg, FORM_TRANSFER, 0, STOP_EINTR },
	{ SYS_recvmmsg, FORM_TRANSFER, 0, STOP_EINTR },
	{ SYS_sendmmsg, FORM_TRANSFER, 0, STOP_EINTR },
	{ SYS_sendfile, FORM_TRANSFER, 0, STOP_EINTR },
	{ SYS_splice, FORM_TRANSFER, 0, STOP_EINTR },
	{ SYS_tee, FORM_TRANSFER, 0, STOP_EINTR },
	{ SYS_vmsplice, FORM_TRANSFER, 0, STOP_EINTR },
};

static const struct call *
find(long nr)
{
	for (unsigned i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].nr == nr)
			return &calls[i];
	return NULL;
}

bool
restart_follows_stop(long nr)
{
	const struct call *call = find(nr);

	return call != NULL && call->stopped == STOP_EINTR;
}

static enum restart
how_sleep(const struct call *call, const uint64_t *arguments)
{
	return call->nr == SYS_clock_nanosleep &&
			       (arguments[1] & TIMER_ABSTIME) != 0
		       ? RESTART_AS_IS
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
	case FORM_RECEIVE:
		return (arguments[call->timeout] & MSG_WAITALL) != 0
			       ? RESTART_PART
			       : RESTART_ANEW;
	case FORM_TRANSFER:
		return RESTART_PART;
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
	case FORM_EVENTS:
		if (arguments[call->timeout] == 0 && arguments[1] > 1)
			return RESTART_PART;
		endless = arguments[call->timeout] == 0;
		break;
	case FORM_URING:
		/* What it has submitted is what it returns. */
		if ((arguments[3] & URING_EXT_ARG) == 0 && arguments[1] != 0)
			return RESTART_PART;
		endless = (arguments[3] & URING_EXT_ARG) == 0;
		break;
	case FORM_ONCE:
		return RESTART_NEVER;
	}
	return endless ? RESTART_AS_IS : RESTART_NEVER;
}

bool
restart_is_remembered(long nr, const uint64_t *arguments)
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
