/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_run.c - `heapagent run`: LD_PRELOAD=…/libheapagent.so and the
 * settings, spelled for people.
 *
 * The command replaces itself with the program, so that there is no process
 * between the caller and it: signals, exit status and PID are the program's.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocator.h"
#include "command.h"
#include "config.h"
#include "options.h"
#include "program.h"

/* What shells answer for these (POSIX.1-2017, XCU 2.8.2). */
enum { STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

enum {
	OPT_RATE = OPT_OWN,
	OPT_DIR,
	OPT_SIGNAL,
	OPT_PROFILES,
	OPT_FORMAT,
	OPT_AT_EXIT,
	OPT_DEPTH,
	OPT_MEMORY,
	OPT_NO_RESUME,
	OPT_NO_CHILDREN,
	OPT_UNWINDER,
	OPT_LOG,
};

static const struct option_row own_options[] = {
	{ OPT_RATE, "rate", "BYTES",
	  "mean distance of samples (512K); 1: all; 0: none" },
	{ OPT_DIR, "dir", "DIR", "where dumps go (the current directory)" },
	{ OPT_SIGNAL, "signal", "SIGNAL",
	  "asks for a dump (a free one): USR1, RTMIN+n, none" },
	{ OPT_PROFILES, "profiles", "KINDS",
	  "what a dump writes (heap,allocs,threads)" },
	{ OPT_FORMAT, "format", "proto|text",
	  "text is for google-pprof and jeprof (proto)" },
	{ OPT_AT_EXIT, "at-exit", NULL, "dump at normal exit too" },
	{ OPT_DEPTH, "depth", "N", "frames kept of a stack (128)" },
	{ OPT_MEMORY, "memory", "BYTES",
	  "the most memory for the profiles (64M)" },
	{ OPT_NO_RESUME, "no-resume", NULL,
	  "leave calls that a dump interrupts to the kernel" },
	{ OPT_NO_CHILDREN, "no-children", NULL,
	  "leave forked and exec'd children alone" },
	{ OPT_UNWINDER, "unwinder", "auto|cfi|fp|libunwind",
	  "how stacks are read (auto)" },
	{ OPT_LOG, "log", "quiet|warn|info",
	  "what may go to standard error (warn)" },
	{ .name = NULL },
};

/* By key - OPT_OWN. */
static const struct {
	const char *setting; /* HEAPAGENT_... */
	const char *value;   /* of an option without value */
} settings[] = {
	[OPT_RATE - OPT_OWN] = { "RATE", NULL },
	[OPT_DIR - OPT_OWN] = { "DIR", NULL },
	[OPT_SIGNAL - OPT_OWN] = { "SIGNAL", NULL },
	[OPT_PROFILES - OPT_OWN] = { "PROFILES", NULL },
	[OPT_FORMAT - OPT_OWN] = { "FORMAT", NULL },
	[OPT_AT_EXIT - OPT_OWN] = { "AT_EXIT", "1" },
	[OPT_DEPTH - OPT_OWN] = { "DEPTH", NULL },
	[OPT_MEMORY - OPT_OWN] = { "MEMORY", NULL },
	[OPT_NO_RESUME - OPT_OWN] = { "RESUME", "0" },
	[OPT_NO_CHILDREN - OPT_OWN] = { "CHILDREN", "0" },
	[OPT_UNWINDER - OPT_OWN] = { "UNWINDER", NULL },
	[OPT_LOG - OPT_OWN] = { "LOG", NULL },
};

/*
 * The agent would only warn of a value that it does not understand, and the
 * program would run for hours without the profiles that were wanted.
 */
static const char *
set(void *context, int key, const char *value)
{
	const char *setting = settings[key - OPT_OWN].setting;
	char variable[32];
	const char *accepted;

	(void)context;
	if (!value)
		value = settings[key - OPT_OWN].value;
	accepted = config_set(setting, value);
	if (!accepted && key == OPT_DIR)
		accepted = options_directory(value);
	if (accepted)
		return accepted;
	snprintf(variable, sizeof(variable), "HEAPAGENT_%s", setting);
	setenv(variable, value, 1);
	return NULL;
}

/*
 * Signals that are free in most programs: real-time ones, away from both ends.
 * glibc's own are below SIGRTMIN, garbage collectors (Boehm's, Mono's), .NET
 * and Samba count up from it; valgrind, and the agent where it may not trace,
 * take those next to SIGRTMAX. SIGUSR2 has a meaning of their own in JVMs,
 * nginx, php-fpm, haproxy, gunicorn, puma and others.
 */
#define FIRST_FREE 23
#define LAST_FREE 27

/* What is ignored or blocked here, the program will ignore or block, too. */
static bool
is_free(int signal)
{
	struct sigaction action;
	sigset_t blocked;

	return sigaction(signal, NULL, &action) == 0 &&
	       action.sa_handler == SIG_DFL &&
	       sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 &&
	       !sigismember(&blocked, signal);
}

/* A signal that the program does not use, unless the user has chosen one. */
static void
choose_signal(void)
{
	char name[16];

	if (getenv("HEAPAGENT_SIGNAL"))
		return;
	for (int i = FIRST_FREE; i <= LAST_FREE; i++) {
		snprintf(name, sizeof(name), "RTMIN+%d", i);
		if (is_free(SIGRTMIN + i)) {
			setenv("HEAPAGENT_SIGNAL", name, 1);
			return;
		}
	}
}

/* The library beside this command: in the build directory, or installed. */
static int
find_library(const char *name, char path[PATH_MAX])
{
	static const char *const places[] = { "", "../lib/heapagent/" };
	char directory[PATH_MAX], candidate[PATH_MAX + 64];
	ssize_t length =
		readlink("/proc/self/exe", directory, sizeof(directory) - 1);

	if (length < 0)
		return command_fail("run: /proc/self/exe: %m");
	directory[length] = '\0';
	*strrchr(directory, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(candidate, sizeof(candidate), "%s/%s%s", directory,
			 places[i], name);
		if (realpath(candidate, path))
			break;
		if (i + 1 == sizeof(places) / sizeof(places[0]))
			return command_fail("run: no %s in %s or "
					    "../lib/heapagent beside it",
					    name, directory);
	}
	/* ld.so(8): these part the list, and there is no way to quote them. */
	if (strpbrk(path, " :"))
		return command_fail("run: %s: LD_PRELOAD takes no path with a "
				    "space or a colon",
				    path);
	return COMMAND_OK;
}

static bool
is_agent(const char *entry)
{
	const char *slash = strrchr(entry, '/');
	const char *base = slash ? slash + 1 : entry;

	return strcmp(base, "libheapagent.so") == 0 ||
	       strcmp(base, "libheapagent-cxx.so") == 0;
}

/*
 * Puts the library in front of what LD_PRELOAD has already, but for an agent:
 * where a program under `run` starts another one with it, there would be two.
 */
static int
preload(const char *library)
{
	const char *others = getenv("LD_PRELOAD");
	char *rest = strdup(others ? others : ""), *save, *list;
	int length = (int)strlen(library), status = -1;
	size_t room = strlen(library) + strlen(rest ? rest : "") + 2;

	list = rest ? malloc(room) : NULL;
	if (list) {
		memcpy(list, library, (size_t)length + 1);
		for (char *entry = strtok_r(rest, ": ", &save); entry;
		     entry = strtok_r(NULL, ": ", &save))
			if (!is_agent(entry))
				length += snprintf(list + length,
						   room - (size_t)length, ":%s",
						   entry);
		status = setenv("LD_PRELOAD", list, 1);
	}
	free(rest);
	free(list);
	return status;
}

static int
run(int argc, char **argv)
{
	struct program program;
	char library[PATH_MAX];
	int status = options_read(&command_run, argc, argv, set, NULL);

	if (status == COMMAND_OK)
		status = options_count(&command_run, argc, argv, 1, INT_MAX);
	if (status != COMMAND_OK)
		return status;
	argv += optind;
	switch (program_find(&program, argv[0])) {
	case PROGRAM_FITS:
		break;
	case PROGRAM_NOT_FOUND:
		command_fail("run: %s", program.reason);
		return STATUS_NOT_FOUND;
	case PROGRAM_NOT_EXECUTABLE:
		command_fail("run: %s", program.reason);
		return STATUS_NOT_EXECUTABLE;
	case PROGRAM_UNFIT:
		return command_misused(
			"run: %s; start it without heapagent run",
			program.reason);
	}
	status =
		find_library(allocator_has_new(&program) ? "libheapagent-cxx.so"
							 : "libheapagent.so",
			     library);
	if (status != COMMAND_OK)
		return status;
	choose_signal();
	if (allocator_is_programs(&program))
		(void)command_fail("run: %s has a malloc of its own: what that "
				   "serves is not in the heap profile",
				   program.path);
	if (preload(library) != 0)
		return command_fail("run: %m");
	execvp(argv[0], argv);
	status = errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
	command_fail("run: %s: %m", argv[0]);
	return status;
}

static const struct option_row *const options[] = { own_options, NULL };

const struct command command_run = {
	.name = "run",
	.arguments = "[--] PROGRAM [ARGUMENT]...",
	.summary = "Start a program with the agent in it",
	.options = options,
	.ends_options = true,
	.run = run,
};
