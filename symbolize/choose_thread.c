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

#include "restart_table.h"

enum harm {
	HARM_NONE,
	HARM_LATE,  /* a time-out that a socket may have begins anew, or a part
		     * of a transfer is returned */
	HARM_EARLY, /* a time-out ends early */
	HARM_DEAF,  /* it takes no such signal */
};

/* Under a seccomp filter the agent leaves to the kernel what it interrupts;
 * that restarts a futex, if it has no time-out. */
static enum harm
harm_of(long nr, const uint64_t *arguments, bool is_filtered)
{
	if (restart_is_remembered(nr, arguments))
		return is_filtered ? HARM_EARLY : HARM_NONE;
	switch (restart_how(nr, arguments)) {
	case RESTART_AS_IS:
	case RESTART_LESS:
		return is_filtered && nr != SYS_futex ? HARM_EARLY : HARM_NONE;
	case RESTART_NEVER:
		return HARM_EARLY;
	case RESTART_ANEW:
	case RESTART_PART:
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

/* False of one that blocks the signal or has ended: the first thread of a
 * process stays as a zombie until all have. */
static bool
takes(pid_t pid, const char *tid, int signal, bool *is_filtered)
{
	FILE *file = open_file(pid, tid, "status");
	uint64_t blocked = UINT64_MAX;
	char line[512], state = 'X';
	int seccomp = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "State: %c", &state) != 1 &&
		    sscanf(line, "SigBlk: %" SCNx64, &blocked) != 1 &&
		    sscanf(line, "Seccomp: %d", &seccomp) == 1)
			break;
	if (file)
		fclose(file);
	*is_filtered = seccomp != 0;
	return state != 'Z' && state != 'X' && !(blocked >> (signal - 1) & 1);
}

static enum harm
harm_to(pid_t pid, const char *tid, int signal)
{
	uint64_t arguments[6] = { 0 };
	FILE *file;
	long nr = -1; /* it runs, or that may not be read */
	bool is_filtered;

	if (!takes(pid, tid, signal, &is_filtered))
		return HARM_DEAF;
	file = open_file(pid, tid, "syscall");
	if (file && fscanf(file, "%ld", &nr) != 1)
		nr = -1;
	for (int i = 0; file && i < 6; i++)
		if (fscanf(file, "%" SCNx64, &arguments[i]) != 1)
			break;
	if (file)
		fclose(file);
	return harm_of(nr, arguments, is_filtered);
}

pid_t
choose_thread(pid_t pid, int signal)
{
	enum harm least = HARM_DEAF;
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
