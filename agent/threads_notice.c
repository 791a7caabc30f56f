/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_notice.c - whether a thread would notice that its call is
 * interrupted; see threads.h.
 *
 * A socket's time-out is no argument of the call that waits for it, so the
 * socket is asked.
 */
#include <sys/socket.h>

#include "descriptor.h"
#include "restart.h"
#include "sys.h"
#include "threads.h"

/* Which of its two time-outs a call has. */
static int
option_of(long nr)
{
	switch (nr) {
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_accept:
	case SYS_accept4:
		return SO_RCVTIMEO;
	default:
		return SO_SNDTIMEO;
	}
}

bool
threads_would_notice(int pid, const struct thread_call *call)
{
	switch (restart_how(call->nr, call->arguments)) {
	case RESTART_NEVER:
	case RESTART_PART:
		return true;
	case RESTART_ANEW:
		return descriptor_may_notice(pid, (int)call->arguments[0],
					     option_of(call->nr));
	default:
		return false;
	}
}
