/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - what /proc tells of a process that runs with the agent.
 *
 * Only looks: nothing is attached, stopped or written. The process goes on
 * meanwhile, so each answer may be old when it is used.
 */
#ifndef HEAPAGENT_PROCESS_H
#define HEAPAGENT_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config.h"

enum process_handler {
	HANDLER_UNKNOWN, /* its memory may not be read */
	HANDLER_NOT_YET, /* the agent has not come so far */
	HANDLER_AGENTS,
	HANDLER_ANOTHERS, /* installed by the program over the agent's */
	HANDLER_NEVER,	  /* the program had one before, or it is a child that
			   * is left alone */
};

struct process {
	pid_t pid;
	/* One that has not ended: /proc says nothing of the memory of a process
	 * whose first thread has. */
	pid_t thread;
	pid_t inner_pid; /* its own number, in its PID namespace */
	char state;	 /* as in /proc/PID/status: 'Z' has ended */
	uint64_t caught; /* signal masks: bit SIG - 1 */
	uint64_t ignored;

	char library[PATH_MAX]; /* the agent's file, as mapped; "" if none */

	int signal; /* that asks for a dump; 0: none */
	/* Whose handler of it the process has: see agent/outside.h. */
	enum process_handler handler;
	unsigned profiles;  /* PROFILE_* bits */
	bool settings_sure; /* read from the agent itself, not guessed */
	char directory[CONFIG_PATH_MAX]; /* as the process names it */
	/* Prefix that makes its paths ours: "" or "/proc/PID/root". */
	char root[32];
};

/* 0, -ESRCH (no such process) or another -errno (-EACCES, -EPERM). */
int process_status(struct process *process, pid_t pid);
/* Finds the library in its mappings. 0, -ENOENT (not there) or -errno. */
int process_library(struct process *process);
/*
 * The settings that the agent in it runs with: from its memory where that may
 * be read, else from the environment that the process was started with, else
 * the defaults.
 */
void process_settings(struct process *process);
/*
 * True if the agent may be on its way into it: it was started just now, or is a
 * `heapagent run`, or was started with the library and has not begun yet.
 */
bool process_begins(pid_t pid);
/* True if every thread blocks the signal. */
bool process_blocks(const struct process *process, int signal);
/* True if it is no more, or a zombie. */
bool process_ended(pid_t pid);

#endif
