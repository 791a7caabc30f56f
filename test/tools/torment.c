/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torment.c - runs a command, asks it for dumps all the while, and tells what
 * it left behind.
 *
 *	torment [-p PRELOAD] [-i MS] [-s SIGNAL] [-t SECONDS]
 *		[-r REPORT] [-d] [-l MS] COMMAND...
 *	-p	LD_PRELOAD of the command
 *	-i	a signal every so many milliseconds (0: none, the default)
 *	-s	which signal (default: 12, SIGUSR2)
 *	-t	the command is killed after so many seconds (default: 30)
 *	-r	a file that gets one line: signals=N zombies=N leftovers=N
 *	-d	its descendants get signals, too
 *	-l	what it leaves behind has so long to end (default: 2000)
 *
 * A signal is sent only while the process catches it, and to a descendant only
 * when it is older than SETTLED_MS: one that is about to exec would be ended.
 * `zombies` are dump children that the command had not reaped one interval
 * later, `leftovers` what still ran so long after the command's end: they come
 * to us, as the subreaper, and are killed. Exit status: the command's, 128 + N
 * for a signal N, 124 for a command that had to be killed; then every thread's
 * system call goes to standard error first.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 20
#define ZOMBIES_MAX 64
#define SETTLED_MS 1500

static struct {
	const char *preload;
	const char *report;
	long interval_ms;
	int signal;
	long seconds;
	bool descendants;
	long leftover_ms;
} options = { .signal = SIGUSR2, .seconds = 30, .leftover_ms = 2000 };

static unsigned long signals, zombies, leftovers;
static pid_t main_pid;

static long
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A field of a process's status file, "" if there is none. */
static const char *
status_field(pid_t pid, const char *name)
{
	static char line[256];
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (file == NULL)
		return "";
	while (fgets(line, sizeof(line), file) != NULL) {
		size_t length = strlen(name);

		if (strncmp(line, name, length) != 0 || line[length] != ':')
			continue;
		fclose(file);
		line[strcspn(line, "\n")] = '\0';
		return line + length + 1 + strspn(line + length + 1, "\t ");
	}
	fclose(file);
	return "";
}

static bool
catches(pid_t pid, int signal)
{
	return strtoull(status_field(pid, "SigCgt"), NULL, 16) >> (signal - 1) &
	       1;
}

/* Runs visit for each process whose parent is `parent`. */
static void
each_child(pid_t parent, void (*visit)(pid_t pid))
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		pid_t pid = (pid_t)atol(entry->d_name);

		if (pid > 0 && atol(status_field(pid, "PPid")) == parent)
			visit(pid);
	}
	closedir(dir);
}

/*
 * A dump child that is seen as a zombie at two looks in a row was not waited
 * for: the agent does that within microseconds, and a second look comes an
 * interval later.
 */
static pid_t seen[ZOMBIES_MAX], seen_before[ZOMBIES_MAX];
static unsigned seen_count, seen_before_count;

static void
look_at_zombie(pid_t pid)
{
	if (status_field(pid, "State")[0] != 'Z' ||
	    strncmp(status_field(pid, "Name"), "heapagent", 9) != 0 ||
	    seen_count == ZOMBIES_MAX)
		return;
	seen[seen_count++] = pid;
	for (unsigned i = 0; i < seen_before_count; i++)
		zombies += seen_before[i] == pid;
}

static void
look_for_zombies(pid_t pid)
{
	memcpy(seen_before, seen, sizeof(seen));
	seen_before_count = seen_count;
	seen_count = 0;
	each_child(pid, look_at_zombie);
}

/* For a command that hangs: where each of its threads is. */
static void
show_threads(pid_t pid)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "for t in /proc/%d/task/*; do echo \"$t $(cat $t/comm) "
		 "$(cat $t/syscall)\"; done >&2; "
		 "timeout 20 gdb -p %d -batch -ex 'thread apply all bt 20' "
		 "2>/dev/null | grep -E '^(Thread|#)' >&2",
		 (int)pid, (int)pid);
	if (system(command) != 0)
		fputs("torment: no gdb\n", stderr);
}

static pid_t
start(char **argv)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (options.preload != NULL)
		setenv("LD_PRELOAD", options.preload, 1);
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

/* Reaps whoever came to us; true once the command itself has ended. */
static bool
reap(pid_t awaited, int *status)
{
	bool ended = false;
	int each;
	pid_t pid;

	while ((pid = waitpid(-1, &each, WNOHANG | __WALL)) > 0) {
		if (pid != awaited)
			continue;
		*status = each;
		ended = true;
	}
	return ended;
}

static void
kill_leftover(pid_t pid)
{
	leftovers++;
	fprintf(stderr, "torment: left behind: %d %s\n", (int)pid,
		status_field(pid, "Name"));
	kill(pid, SIGKILL);
}

/* How long ago the process was made, in milliseconds; 0 if it is gone. */
static long
age_ms(pid_t pid)
{
	char path[64], line[1024];
	const char *after_name = NULL;
	struct timespec now;
	long ticks = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	if (fgets(line, sizeof(line), file) != NULL)
		after_name = strrchr(line, ')');
	fclose(file);
	/* Its start is the 22nd field (proc(5)), the name the second. */
	for (int field = 2; after_name != NULL && field < 22; field++)
		after_name = strchr(after_name + 1, ' ');
	if (after_name == NULL)
		return 0;
	ticks = atol(after_name);
	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000 -
	       ticks * 1000 / sysconf(_SC_CLK_TCK);
}

static void
ask(pid_t pid)
{
	if (catches(pid, options.signal) && kill(pid, options.signal) == 0)
		signals++;
}

/* Asks a descendant of ours, which may be the command itself, and its own. */
static void
ask_descendant(pid_t pid)
{
	if (pid == main_pid || age_ms(pid) > SETTLED_MS)
		ask(pid);
	each_child(pid, ask_descendant);
}

static int
attend(pid_t pid)
{
	long begin = now_ms(), next = begin + options.interval_ms;
	long pause = options.interval_ms > 0 && options.interval_ms < TICK_MS
			     ? options.interval_ms
			     : TICK_MS;
	int status = 0;

	while (!reap(pid, &status)) {
		if (now_ms() - begin > options.seconds * 1000) {
			fprintf(stderr, "torment: no end after %ld s\n",
				options.seconds);
			show_threads(pid);
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return 124;
		}
		poll(NULL, 0, (int)pause);
		if (options.interval_ms == 0 || now_ms() < next)
			continue;
		next = now_ms() + options.interval_ms;
		look_for_zombies(pid);
		if (options.descendants)
			each_child(getpid(), ask_descendant);
		else
			ask(pid);
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

static void
parse(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "+p:i:s:t:r:l:d")) != -1) {
		switch (option) {
		case 'p':
			options.preload = optarg;
			break;
		case 'i':
			options.interval_ms = atol(optarg);
			break;
		case 's':
			options.signal = atoi(optarg);
			break;
		case 't':
			options.seconds = atol(optarg);
			break;
		case 'r':
			options.report = optarg;
			break;
		case 'l':
			options.leftover_ms = atol(optarg);
			break;
		case 'd':
			options.descendants = true;
			break;
		default:
			exit(2);
		}
	}
	if (optind == argc)
		exit(2);
}

int
main(int argc, char **argv)
{
	FILE *report;
	long end;
	int result, status;

	parse(argc, argv);
	/* The process itself has no other children than these. */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	main_pid = start(argv + optind);
	result = attend(main_pid);
	end = now_ms() + options.leftover_ms;
	do {
		reap(-1, &status);
		if (waitpid(-1, &status, WNOHANG | __WALL) < 0)
			break;
		poll(NULL, 0, TICK_MS);
	} while (now_ms() < end);
	if (waitpid(-1, &status, WNOHANG | __WALL) == 0)
		each_child(getpid(), kill_leftover);
	report = options.report ? fopen(options.report, "w") : NULL;
	if (report != NULL) {
		fprintf(report, "signals=%lu zombies=%lu leftovers=%lu\n",
			signals, zombies, leftovers);
		fclose(report);
	}
	return result;
}
