/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_socket.c - whether the socket that a thread waits for has a time-out;
 * see threads.h.
 *
 * Only such a call notices a stop, and then its time-out begins anew; but the
 * time-out is no argument of it. So the socket is asked, through a descriptor
 * of this process's own that exists for some microseconds. The thread itself
 * holds the socket open meanwhile.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "log.h"
#include "sys.h"
#include "threads.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

/* Which of its two time-outs a call has. */
static int
option_of(long nr)
{
	switch (nr) {
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_accept:
	case SYS_accept4:
		return SO_RCVTIMEO;
	default:
		return SO_SNDTIMEO;
	}
}

/* The end of a copy of another kind of file might do more. */
static bool
is_socket(int pid, int fd)
{
	static const char prefix[] = "socket:";
	char path[THREAD_PATH_MAX], target[sizeof(prefix) - 1];
	long length;

	log_format(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	length = sys_call4(SYS_readlinkat, AT_FDCWD, path, target,
			   sizeof(target));
	return length == (long)sizeof(target) &&
	       memcmp(target, prefix, sizeof(target)) == 0;
}

static bool
has_timeout(int fd, int option)
{
	struct timeval timeout = { 0, 0 };
	socklen_t size_bytes = sizeof(timeout);

	return sys_call5(SYS_getsockopt, fd, SOL_SOCKET, option, &timeout,
			 &size_bytes) == 0 &&
	       (timeout.tv_sec != 0 || timeout.tv_usec != 0);
}

bool
threads_socket_times_out(int pid, const struct thread_call *call)
{
	int fd = (int)call->arguments[0];
	bool found = false;
	long process, copy;

	/* These calls are too new for many a filter, which might end us. */
	if (sys_call5(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != 0 ||
	    !is_socket(pid, fd))
		return false;
	process = sys_call2(SYS_pidfd_open, pid, 0);
	if (sys_failed(process))
		return false;
	copy = sys_call3(SYS_pidfd_getfd, process, fd, 0);
	if (!sys_failed(copy)) {
		found = has_timeout((int)copy, option_of(call->nr));
		sys_close((int)copy);
	}
	sys_close((int)process);
	return found;
}
