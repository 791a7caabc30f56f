/* SPDX-License-Identifier: Apache-2.0 */
/* descriptor.c - a file's type and a socket's options; see descriptor.h. */
#include "descriptor.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "log.h"
#include "sys.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

/* "/proc/4194304/fd/2147483647" */
#define PATH_BYTES 64

/* What it is open for, from what is known without a look at the medium. */
static bool
read_type(int pid, int fd, struct statx *type)
{
	char path[PATH_BYTES];

	log_format(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	return sys_call5(SYS_statx, AT_FDCWD, path, AT_STATX_DONT_SYNC,
			 STATX_TYPE, type) == 0;
}

/* Reads an option of a socket. */
static bool
read_own(int fd, int option, void *value, socklen_t size_bytes)
{
	return sys_call5(SYS_getsockopt, fd, SOL_SOCKET, option, value,
			 &size_bytes) == 0;
}

/* Of a socket of another process. */
static bool
read_copied(int pid, int fd, int option, void *value, socklen_t size_bytes)
{
	long process = sys_call2(SYS_pidfd_open, pid, 0), copy;
	bool found = false;

	if (sys_failed(process))
		return false;
	copy = sys_call3(SYS_pidfd_getfd, process, fd, 0);
	if (!sys_failed(copy)) {
		found = read_own((int)copy, option, value, size_bytes);
		sys_close((int)copy);
	}
	sys_close((int)process);
	return found;
}

static bool
read_option(int pid, int fd, int option, void *value, socklen_t size_bytes)
{
	return pid == sys_getpid()
		       ? read_own(fd, option, value, size_bytes)
		       : read_copied(pid, fd, option, value, size_bytes);
}

bool
descriptor_may_notice(int pid, int fd, int option)
{
	struct timeval timeout = { 0, 0 };
	struct statx file;

	/* These calls are too new for many a filter. */
	if (sys_is_filtered() || !read_type(pid, fd, &file))
		return true;
	if (!S_ISSOCK(file.stx_mode))
		return S_ISCHR(file.stx_mode);
	return !read_option(pid, fd, option, &timeout, sizeof(timeout)) ||
	       timeout.tv_sec != 0 || timeout.tv_usec != 0;
}
