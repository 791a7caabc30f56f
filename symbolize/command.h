/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - what a subcommand of `heapagent` is.
 *
 * Each lives in a file command_NAME.c of its own, and the table of
 * heapagent.c lists it. One process runs one of them, in one thread.
 */
#ifndef HEAPAGENT_COMMAND_H
#define HEAPAGENT_COMMAND_H

#include <stdbool.h>

/* Exit statuses; a program that `run` starts has its own. */
enum {
	COMMAND_OK = 0,
	COMMAND_FAILED = 1,
	COMMAND_USAGE = 2,
	COMMAND_DONE = -1, /* inside only: help was asked for, and printed */
};

struct option_row;

struct command {
	const char *name;
	const char *arguments; /* after the options, as in the help: "PID" */
	const char *summary;   /* one line of the help */
	/* Tables of options.h, the last one followed by NULL. */
	const struct option_row *const *options;
	/* What follows the first argument is another program's. */
	bool ends_options;
	/* argv[0] is the subcommand's name. Returns the exit status. */
	int (*run)(int argc, char **argv);
};

extern const struct command command_run;
extern const struct command command_dump;
extern const struct command command_symbolize;
extern const struct command command_top;
extern const struct command command_tree;
extern const struct command command_peek;
extern const struct command command_diff;
extern const struct command command_flame;
extern const struct command command_inuse;
extern const struct command command_delta;
extern const struct command command_text;
extern const struct command command_status;

/* "heapagent: ...\n" on standard error. Returns COMMAND_FAILED. */
int command_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for a wrong call. Returns COMMAND_USAGE. */
int command_misused(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

#endif
