/* SPDX-License-Identifier: Apache-2.0 */
/* choose_thread.c - what each thread waits in; see choose_thread.h. */
#include "choose_thread.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

enum harm {
	HARM_NONE,
	HARM_LATE,  /* a time-out that a socket may have begins anew */
	HARM_EARLY, /* a time-out that it may have ends early */
	HARM_BLOCKED,
};

static enum harm
harm_of(long nr)
{
	switch (nr) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_rt_sigtimedwait:
	case SYS_semtimedop:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
	case SYS_io_uring_enter:
		return HARM_EARLY;
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
		return HARM_LATE;
	default:
		return HARM_NONE;
	}
}

static FILE *
open_file(pid_t pid, const char *tid, const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/%s", (int)pid, tid,
		 name);
	return fopen(path, "re");
}

/* One that ended meanwhile is taken for one that blocks the signal. */
static bool
blocks(pid_t pid, const char *tid, int signal)
{
	FILE *file = open_file(pid, tid, "status");
	uint64_t blocked = UINT64_MAX;
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "SigBlk: %" SCNx64, &blocked) == 1)
			break;
	if (file)
		fclose(file);
	return blocked >> (signal - 1) & 1;
}

static enum harm
harm_to(pid_t pid, const char *tid, int signal)
{
	FILE *file;
	long nr = -1; /* it runs, or that may not be read */

	if (blocks(pid, tid, signal))
		return HARM_BLOCKED;
	file = open_file(pid, tid, "syscall");
	if (file && fscanf(file, "%ld", &nr) != 1)
		nr = -1;
	if (file)
		fclose(file);
	return harm_of(nr);
}

pid_t
choose_thread(pid_t pid, int signal)
{
	enum harm least = HARM_BLOCKED;
	struct dirent *entry;
	char path[32];
	pid_t chosen = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && least != HARM_NONE && (entry = readdir(tasks))) {
		enum harm harm;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		harm = harm_to(pid, entry->d_name, signal);
		if (harm >= least)
			continue;
		least = harm;
		chosen = (pid_t)atoi(entry->d_name);
	}
	if (tasks)
		closedir(tasks);
	return chosen;
}
