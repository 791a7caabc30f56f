/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_blocked.c - a blocked thread read through its syscall file, without
 * stopping it; see threads.h.
 */
#include <string.h>

#include "counters.h"
#include "restart.h"
#include "threads.h"

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
	    !(restart_notices_stop(call->nr) &&
	      restart_how(call->nr, call->arguments) == RESTART_NEVER))
		return false;
	threads_walk(threads, record, &registers, 0);
	counter_add(COUNTER_threads_by_syscall_file);
	return true;
}
