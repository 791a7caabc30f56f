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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "program.h"

/* What shells answer for these (POSIX.1-2017, XCU 2.8.2). */
enum { STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

struct setting {
	const char *option;
	const char *variable;
	const char *value; /* of an option without argument; else NULL */
};

static const struct setting settings[] = {
	{ "rate", "HEAPAGENT_RATE", NULL },
	{ "dir", "HEAPAGENT_DIR", NULL },
	{ "signal", "HEAPAGENT_SIGNAL", NULL },
	{ "profiles", "HEAPAGENT_PROFILES", NULL },
	{ "format", "HEAPAGENT_FORMAT", NULL },
	{ "at-exit", "HEAPAGENT_AT_EXIT", "1" },
	{ "depth", "HEAPAGENT_DEPTH", NULL },
	{ "memory", "HEAPAGENT_MEMORY", NULL },
	{ "no-children", "HEAPAGENT_CHILDREN", "0" },
	{ "unwinder", "HEAPAGENT_UNWINDER", NULL },
	{ "log", "HEAPAGENT_LOG", NULL },
};
#define SETTING_COUNT (sizeof(settings) / sizeof(settings[0]))

/* Sets the variables of the options; optind is at the program then. */
static int
read_options(int argc, char **argv)
{
	struct option options[SETTING_COUNT + 1] = { { .name = NULL } };
	int index, got;

	for (size_t i = 0; i < SETTING_COUNT; i++) {
		options[i].name = settings[i].option;
		options[i].has_arg =
			settings[i].value ? no_argument : required_argument;
	}
	opterr = 0;
	/* "+": the program's own options are not ours. */
	while ((got = getopt_long(argc, argv, "+:", options, &index)) != -1) {
		if (got == ':')
			return command_misused("run: %s needs a value",
					       argv[optind - 1]);
		if (got == '?')
			return command_misused(
				"run: unknown option '%s'; see heapagent run "
				"--help",
				argv[optind - 1]);
		setenv(settings[index].variable,
		       optarg ? optarg : settings[index].value, 1);
	}
	if (optind == argc)
		return command_misused("run: no program given");
	return COMMAND_OK;
}

/* The library beside this command: in the build directory, or installed. */
static int
find_library(char path[PATH_MAX])
{
	static const char *const places[] = {
		"libheapagent.so",
		"../lib/heapagent/libheapagent.so",
	};
	char directory[PATH_MAX], candidate[PATH_MAX + 64];
	ssize_t length =
		readlink("/proc/self/exe", directory, sizeof(directory) - 1);

	if (length < 0)
		return command_fail("run: /proc/self/exe: %m");
	directory[length] = '\0';
	*strrchr(directory, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(candidate, sizeof(candidate), "%s/%s", directory,
			 places[i]);
		if (realpath(candidate, path))
			break;
		if (i + 1 == sizeof(places) / sizeof(places[0]))
			return command_fail("run: no libheapagent.so in %s or "
					    "../lib/heapagent beside it",
					    directory);
	}
	/* ld.so(8): these part the list, and there is no way to quote them. */
	if (strpbrk(path, " :"))
		return command_fail("run: %s: LD_PRELOAD takes no path with a "
				    "space or a colon",
				    path);
	return COMMAND_OK;
}

/* Puts the library in front of what LD_PRELOAD has already. */
static int
preload(const char *library)
{
	const char *others = getenv("LD_PRELOAD");
	char *list;
	int status;

	if (!others || !*others)
		return setenv("LD_PRELOAD", library, 1);
	if (asprintf(&list, "%s:%s", library, others) < 0)
		return -1;
	status = setenv("LD_PRELOAD", list, 1);
	free(list);
	return status;
}

static int
run(int argc, char **argv)
{
	struct program program;
	char library[PATH_MAX];
	int status = read_options(argc, argv);

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
	status = find_library(library);
	if (status != COMMAND_OK)
		return status;
	if (preload(library) != 0)
		return command_fail("run: %m");
	execvp(argv[0], argv);
	status = errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
	command_fail("run: %s: %m", argv[0]);
	return status;
}

const struct command command_run = {
	.name = "run",
	.arguments = "[OPTION]... [--] PROGRAM [ARGUMENT]...",
	.options =
		"  --rate N       mean bytes between samples (512K); 1: every "
		"allocation; 0: none\n"
		"  --dir D        where dumps go (the current directory)\n"
		"  --signal S     what asks for a dump (USR2): name, number, "
		"RTMIN+n or none\n"
		"  --profiles L   which kinds (heap,allocs,threads)\n"
		"  --format F     proto, or text (for google-pprof and "
		"jeprof)\n"
		"  --at-exit      dump at normal exit too\n"
		"  --depth N      frames kept of a stack (128)\n"
		"  --memory N     the most memory for the profiles (64M)\n"
		"  --no-children  leave forked and exec'd children alone\n"
		"  --unwinder U   auto, cfi, fp or libunwind\n"
		"  --log L        quiet, warn or info\n",
	.summary = "Start a program with the agent in it",
	.run = run,
};
