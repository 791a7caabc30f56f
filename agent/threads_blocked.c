/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_blocked.c - a blocked thread read through its syscall file, without
 * stopping it; see threads.h.
 */
#include <string.h>

#include "counters.h"
#include "restart.h"
#include "threads.h"

/* True if the call would end or begin anew if its thread were stopped. */
static bool
would_notice(int pid, const struct thread_call *call)
{
	enum restart how;

	if (!restart_notices_stop(call->nr))
		return false;
	how = restart_how(call->nr, call->arguments);
	return how == RESTART_NEVER ||
	       (how == RESTART_ANEW && threads_socket_times_out(pid, call));
}

/*
 * The frame pointer is not known here, so all others are asked for all their
 * registers.
 */
bool
threads_read_blocked(struct threads *threads, struct thread_record *record)
{
	const struct thread_call *call = &record->call;
	struct unwind_registers registers = {
		.ip = call->ip,
		.sp = call->sp,
		.exact = true,
	};

	if (!call->known)
		return false;
	if (strcmp(record->state, "disk-sleep") != 0 &&
	    !would_notice(threads->pid, call))
		return false;
	threads_walk(threads, record, &registers, 0);
	counter_add(COUNTER_threads_by_syscall_file);
	return true;
}
