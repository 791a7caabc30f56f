/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.c - reads /proc/PID.
 *
 * A program may overwrite its environment (redis-server puts its title there),
 * so the settings are taken from the agent itself where possible:
 * agent_config.c.
 */
#include "process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent_config.h"
#include "outside.h"
#include "signals.h"

/* Loading hundreds of libraries takes no longer. */
#define BEGINS_S 10

__attribute__((format(printf, 2, 3))) static FILE *
open_proc(const char *mode, const char *format, ...)
{
	char path[128];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	return fopen(path, mode);
}

static void
status_line(struct process *process, const char *line)
{
	const char *last;

	if (sscanf(line, "State: %c", &process->state) == 1 ||
	    sscanf(line, "SigCgt: %" SCNx64, &process->caught) == 1 ||
	    sscanf(line, "SigIgn: %" SCNx64, &process->ignored) == 1 ||
	    sscanf(line, "Tgid: %d", &process->pid) == 1)
		return;
	if (strncmp(line, "NStgid:", 7) == 0) {
		last = strrchr(line, '\t');
		process->inner_pid = last ? atoi(last) : process->pid;
	}
}

static int
thread_status(struct process *process, pid_t tid)
{
	FILE *file = open_proc("re", "/proc/%d/status", (int)tid);
	char line[512];

	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	process->thread = tid;
	while (fgets(line, sizeof(line), file))
		status_line(process, line);
	fclose(file);
	return 0;
}

/* Where the first thread has ended, another one may not have. */
static void
find_thread(struct process *process)
{
	char path[64];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process->pid);
	tasks = opendir(path);
	while (tasks && process->state == 'Z' && (entry = readdir(tasks)))
		if (isdigit((unsigned char)entry->d_name[0]))
			(void)thread_status(process, atoi(entry->d_name));
	if (tasks)
		closedir(tasks);
}

int
process_status(struct process *process, pid_t pid)
{
	int error;

	*process = (struct process){ .pid = pid, .inner_pid = pid };
	error = thread_status(process, pid);
	if (error != 0)
		return error;
	if (process->state == 'Z')
		find_thread(process);
	return kill(pid, 0) == 0 ? 0 : -errno;
}

bool
process_ended(pid_t pid)
{
	struct process now;

	return process_status(&now, pid) == -ESRCH || now.state == 'Z' ||
	       now.state == 'X';
}

/* True if path's last part is the agent's file name. */
static bool
is_agent(char *path)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(path);
	const char *base;

	/* Replaced on disk since it was loaded. */
	if (length >= sizeof(deleted) &&
	    strcmp(path + length - (sizeof(deleted) - 1), deleted) == 0)
		path[length - (sizeof(deleted) - 1)] = '\0';
	base = strrchr(path, '/');
	return base && (strcmp(base, "/libheapagent.so") == 0 ||
			strcmp(base, "/libheapagent-cxx.so") == 0);
}

int
process_library(struct process *process)
{
	FILE *file = open_proc("re", "/proc/%d/maps", (int)process->thread);
	char line[PATH_MAX + 128];
	uint64_t offset;
	int path = 0;

	if (!file)
		return -errno;
	errno = 0;
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		path = 0;
		if (sscanf(line, "%*x-%*x %*s %" SCNx64 " %*s %*s %n", &offset,
			   &path) < 1 ||
		    path == 0 || offset != 0 || !is_agent(line + path))
			continue;
		snprintf(process->library, sizeof(process->library), "%s",
			 line + path);
		break;
	}
	/* The file opens without permission; then reading it fails. */
	if (ferror(file) && errno != 0) {
		fclose(file);
		return -errno;
	}
	fclose(file);
	return process->library[0] ? 0 : -ENOENT;
}

/* The value of a variable it was started with, to be freed; or NULL. */
static char *
environment(const struct process *process, const char *name)
{
	FILE *file = open_proc("re", "/proc/%d/environ", (int)process->thread);
	size_t length = strlen(name), room = 0;
	char *entry = NULL, *value = NULL;

	if (!file)
		return NULL;
	while (!value && getdelim(&entry, &room, '\0', file) > 0)
		if (strncmp(entry, name, length) == 0 && entry[length] == '=')
			value = strdup(entry + length + 1);
	free(entry);
	fclose(file);
	return value;
}

/* The PROFILE_* bits of a list; what does not parse counts as the default. */
static unsigned
parse_profiles(const char *list)
{
	static const struct {
		const char *name;
		unsigned bit;
	} kinds[] = { { "heap", PROFILE_HEAP },
		      { "allocs", PROFILE_ALLOCS },
		      { "threads", PROFILE_THREADS } };
	unsigned profiles = 0;

	while (*list) {
		size_t length = strcspn(list, ",");

		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (strlen(kinds[i].name) == length &&
			    strncmp(list, kinds[i].name, length) == 0)
				profiles |= kinds[i].bit;
		list += length + (list[length] == ',');
	}
	return profiles ? profiles : PROFILE_ALL;
}

/* Makes a relative directory absolute by the current one: a best guess. */
static void
guess_directory(struct process *process, const char *setting)
{
	char path[64], current[PATH_MAX] = "";
	ssize_t length;

	if (setting && setting[0] == '/') {
		snprintf(process->directory, sizeof(process->directory), "%s",
			 setting);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)process->thread);
	length = readlink(path, current, sizeof(current) - 1);
	current[length > 0 ? length : 0] = '\0';
	if (snprintf(process->directory, sizeof(process->directory), "%s%s%s",
		     current, setting && *setting ? "/" : "",
		     setting ? setting : "") >= (int)sizeof(process->directory))
		process->directory[0] = '\0';
}

static void
guess_settings(struct process *process)
{
	char *signal = environment(process, "HEAPAGENT_SIGNAL");
	char *profiles = environment(process, "HEAPAGENT_PROFILES");
	char *directory = environment(process, "HEAPAGENT_DIR");

	process->signal = signal ? signals_parse(signal) : SIGUSR2;
	if (process->signal < 0)
		process->signal = SIGUSR2;
	process->profiles = parse_profiles(profiles ? profiles : "");
	guess_directory(process, directory);
	free(signal);
	free(profiles);
	free(directory);
}

/* A process in a container sees other files under the same names. */
static void
find_root(struct process *process)
{
	struct stat ours, its;

	snprintf(process->root, sizeof(process->root), "/proc/%d/root",
		 (int)process->thread);
	if (stat("/", &ours) == 0 && stat(process->root, &its) == 0 &&
	    ours.st_dev == its.st_dev && ours.st_ino == its.st_ino)
		process->root[0] = '\0';
}

static enum process_handler
whose_handler(const struct process *process)
{
	struct outside outside;

	if (agent_config_outside(process->thread, &outside))
		return HANDLER_UNKNOWN;
	if (!(outside.handler & OUTSIDE_HAS_BEGUN))
		return HANDLER_NOT_YET;
	if (!(outside.handler & OUTSIDE_IS_IN))
		return HANDLER_NEVER;
	return outside.handler & OUTSIDE_IS_ANOTHERS ? HANDLER_ANOTHERS
						     : HANDLER_AGENTS;
}

void
process_settings(struct process *process)
{
	static struct config settings;

	find_root(process);
	process->handler = whose_handler(process);
	process->settings_sure =
		agent_config_read(process->thread, &settings) == 0;
	if (!process->settings_sure) {
		guess_settings(process);
		return;
	}
	process->signal = settings.signal;
	process->profiles = settings.profiles;
	memcpy(process->directory, settings.directory,
	       sizeof(process->directory));
}

/* Seconds since it was started; exec() does not count. */
static double
age_s(pid_t pid)
{
	FILE *file = open_proc("re", "/proc/%d/stat", (int)pid);
	unsigned long long start = 0;
	struct timespec now;
	char line[1024];
	const char *name_end;

	if (!file)
		return INFINITY;
	/* proc_pid_stat(5): field 22; the name may have spaces and brackets. */
	name_end = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	if (!name_end ||
	    sscanf(name_end + 1,
		   " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%*s %*s %*s %*s %*s %llu",
		   &start) != 1 ||
	    clock_gettime(CLOCK_BOOTTIME, &now) != 0)
		return INFINITY;
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9 -
	       (double)start / (double)sysconf(_SC_CLK_TCK);
}

/* True if it is this command, which has not started its program yet. */
static bool
is_command(pid_t pid)
{
	char path[64];
	struct stat ours, its;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return stat("/proc/self/exe", &ours) == 0 && stat(path, &its) == 0 &&
	       ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

bool
process_begins(pid_t pid)
{
	const struct process process = { .pid = pid, .thread = pid };
	double age = age_s(pid);
	char *preload;
	bool named;

	if (age < 1 || (age < BEGINS_S && is_command(pid)))
		return true;
	if (age >= BEGINS_S)
		return false;
	preload = environment(&process, "LD_PRELOAD");
	named = preload && strstr(preload, "/libheapagent");
	free(preload);
	return named;
}

bool
process_blocks(const struct process *process, int signal)
{
	char path[64], line[512];
	struct dirent *entry;
	uint64_t blocked;
	bool all = true;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process->pid);
	tasks = opendir(path);
	while (tasks && all && (entry = readdir(tasks))) {
		FILE *file;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		file = open_proc("re", "/proc/%d/task/%.20s/status",
				 (int)process->pid, entry->d_name);
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "SigBlk: %" SCNx64, &blocked) == 1)
				all &= blocked >> (signal - 1) & 1;
		if (file)
			fclose(file);
	}
	if (tasks)
		closedir(tasks);
	return tasks && all;
}
