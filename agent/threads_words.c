/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_words.c - what a thread does, as a reader wants it said; see
 * threads.h.
 *
 * A call's name is the kernel's, as strace and perf trace print it; a futex
 * that is waited for is what Go's runtime would call it.
 */
#include <linux/futex.h>
#include <string.h>

#include "arch/x86_64_syscalls.h"
#include "compiler.h"
#include "log.h"
#include "sys.h"
#include "threads.h"

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

static bool
is_futex_wait(const struct thread_call *call)
{
	if (call->nr != SYS_futex)
		return false;
	switch ((int)call->arguments[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return true;
	default:
		return false;
	}
}

/* NULL: the call has none that is known here. */
static const char *
call_name(const struct thread_call *call)
{
	if (call->nr == -1)
		return "page fault";
	if (is_futex_wait(call))
		return "futex wait";
	if (call->nr < 0 ||
	    (size_t)call->nr >= ARRAY_SIZE(arch_syscall_names) ||
	    arch_syscall_names[call->nr][0] == '\0')
		return NULL;
	return arch_syscall_names[call->nr];
}

void
threads_state_text(const struct thread_record *record,
		   char text[THREAD_STATE_MAX])
{
	const char *name = record->state;

	if (strcmp(record->state, "sleeping") == 0 && record->call.known)
		name = call_name(&record->call);
	if (name != NULL)
		(void)log_format(text, THREAD_STATE_MAX, "%s", name);
	else
		(void)log_format(text, THREAD_STATE_MAX, "syscall %ld",
				 record->call.nr);
}
