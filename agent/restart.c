/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart.c - which calls, and how they are found in a signal's context.
 *
 * The context has no number of the system call (rax holds the result), so it
 * is read from the code: the instruction before the context's is `syscall`,
 * and shortly before it stands `mov $nr, %eax` (or `xor %eax, %eax`), as the
 * compiler writes it for every wrapper of libc. Elsewhere nothing is changed.
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
#include "compiler.h"
#include "sys.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_io_uring_enter
#define SYS_io_uring_enter 426
#endif
/* io_uring_enter(2): the last arguments describe a time-out. */
#define URING_EXT_ARG 8

enum form {
	FORM_ALWAYS,   /* no time-out, or one that the kernel counts down */
	FORM_NEGATIVE, /* argument `timeout`: milliseconds, negative: none */
	FORM_POINTER,  /* argument `timeout`: a pointer, NULL: none */
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
	/* These write back what remains of their time-out. */
	{ SYS_ppoll, FORM_ALWAYS, 0, false },
	{ SYS_select, FORM_ALWAYS, 0, false },
	{ SYS_pselect6, FORM_ALWAYS, 0, false },
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
	{ SYS_read, FORM_ALWAYS, 0, true },
	{ SYS_readv, FORM_ALWAYS, 0, true },
	{ SYS_accept, FORM_ALWAYS, 0, true },
	{ SYS_accept4, FORM_ALWAYS, 0, true },
	{ SYS_connect, FORM_ALWAYS, 0, true },
	{ SYS_recvfrom, FORM_ALWAYS, 0, true },
	{ SYS_recvmsg, FORM_ALWAYS, 0, true },
	{ SYS_sendto, FORM_ALWAYS, 0, true },
	{ SYS_sendmsg, FORM_ALWAYS, 0, true },
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
	case FORM_NEGATIVE:
		endless = (int)arguments[call->timeout] < 0;
		break;
	case FORM_POINTER:
		endless = arguments[call->timeout] == 0;
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

/* How far before the `syscall` its number is looked for: libc's epoll_pwait
 * has one instruction of 4 bytes between. */
#define CODE_BYTES 16
#define MOV_IMM32_EAX 0xb8
#define MOV_BYTES 5
#define XOR_EAX_EAX_0 0x31
#define XOR_EAX_EAX_1 0xc0

/* The number of the call that ends at ip, or -1. */
static long
call_number(uintptr_t ip)
{
	unsigned char code[CODE_BYTES];
	uintptr_t begin = ip - sizeof(code);

	if (!sys_readable(begin) || !sys_readable(ip - 1))
		return -1;
	memcpy(code, (const void *)begin, sizeof(code));
	if (code[CODE_BYTES - 2] != 0x0f || code[CODE_BYTES - 1] != 0x05)
		return -1;
	/* The nearest one; the number 0, read, is made by xor. */
	for (int at = CODE_BYTES - ARCH_SYSCALL_BYTES - 2; at >= 0; at--) {
		uint32_t nr = 0;

		if (code[at] == XOR_EAX_EAX_0 && code[at + 1] == XOR_EAX_EAX_1)
			return SYS_read;
		if (at > CODE_BYTES - ARCH_SYSCALL_BYTES - MOV_BYTES)
			continue;
		memcpy(&nr, code + at + 1, sizeof(nr));
		if (code[at] == MOV_IMM32_EAX && find((long)nr) != NULL)
			return (long)nr;
	}
	return -1;
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

bool
restart_call(ucontext_t *context)
{
	struct arch_call call = arch_context_call(context);
	enum restart how;
	long nr;

	if (call.result != -EINTR)
		return false;
	nr = call_number(call.ip);
	if (nr < 0)
		return false;
	how = restart_how(nr, call.arguments);
	if (how != RESTART_AS_IS && how != RESTART_REMAINING)
		return false;
	if (has_pending_signal(context))
		return false;
	/* The kernel has written what remains where the caller wants it; the
	 * call reads its request from there. */
	if (how == RESTART_REMAINING) {
		unsigned request = find(nr)->timeout;

		arch_context_set_argument(context, request,
					  call.arguments[request + 1]);
	}
	arch_context_rerun(context, nr);
	return true;
}
