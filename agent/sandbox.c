/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - the two hooks behind sandbox.h, and what was seen through them.
 *
 * A thread that enters one alone counts for the process. A flag that was set
 * for a call which then failed stays set: it costs dumps, no harm.
 */
#include "sandbox.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "arch/x86_64.h"
#include "arch/x86_64_sandbox.h"
#include "atomics.h"
#include "symbol.h"
#include "sys.h"

/* Until the next ones are looked up: what libc's do. */
static long
first_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	long r = arch_syscall(nr, a, b, c, d, e, f);

	if (!sys_failed(r))
		return r;
	errno = (int)-r;
	return -1;
}

static long
first_prctl(long option, long a, long b, long c, long d)
{
	return first_syscall(SYS_prctl, (int)option, a, b, c, d, 0);
}

/* Atomic: only ever set, by whoever is about to ask the kernel. */
unsigned char sandbox_ptracer;
/* Immutable after sandbox_init(). */
long (*sandbox_prctl)(long, ...) = (long (*)(long, ...))(void *)first_prctl;
long (*sandbox_syscall)(long, ...) = (long (*)(long, ...))(void *)first_syscall;

static struct {
	/* Immutable after sandbox_init(). */
	bool filtered;
	long no_new_privileges;
} at_start;

static long
ask(int what)
{
	return sys_call5(SYS_prctl, what, 0, 0, 0, 0);
}

void
sandbox_init(void)
{
	void *next = symbol_next("prctl");

	if (next != NULL)
		sandbox_prctl = (long (*)(long, ...))next;
	next = symbol_next("syscall");
	if (next != NULL)
		sandbox_syscall = (long (*)(long, ...))next;
	at_start.filtered = ask(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;
	at_start.no_new_privileges = ask(PR_GET_NO_NEW_PRIVS);
}

bool
sandbox_at_start(void)
{
	return at_start.filtered;
}

bool
sandbox_was_seen(void)
{
	/* Relaxed, as in sys.c. */
	return atomic_load_relaxed(&sys_confined) != 0;
}

bool
sandbox_is_new(void)
{
	if (sandbox_was_seen())
		return true;
	/* Without a privilege who enters one has to set this first. */
	return at_start.filtered
		       ? ask(PR_GET_NO_NEW_PRIVS) != at_start.no_new_privileges
		       : ask(PR_GET_SECCOMP) != 0;
}

bool
sandbox_has_ptracer(void)
{
	return sandbox_ptracer != 0;
}
