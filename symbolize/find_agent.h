/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_agent.h - the process that a command line names, and the agent in it.
 *
 * What is wrong is said in one line, with the command's name in front; the
 * results are COMMAND_OK, COMMAND_FAILED or COMMAND_USAGE.
 */
#ifndef HEAPAGENT_FIND_AGENT_H
#define HEAPAGENT_FIND_AGENT_H

#include "command.h"
#include "process.h"
#include "reason.h"

/* The process number that is the only argument left, argv[optind]. */
int find_agent_pid(const struct command *command, int argc, char **argv,
		   pid_t *pid);

/* Fills *process in, its settings too: 0, or a negative errno. */
int find_agent_look(struct process *process, pid_t pid, struct reason *reason);

/* The same; what is wrong is said. */
int find_agent(const char *command, struct process *process, pid_t pid);

#endif
