/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_agent.c - from a process number to the agent in it; see find_agent.h.
 */
#include "find_agent.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

int
find_agent_pid(const struct command *command, int argc, char **argv, pid_t *pid)
{
	const char *text;
	long number;
	int status = options_count(command, argc, argv, 1, 1);

	if (status != COMMAND_OK)
		return status;
	text = argv[optind];
	errno = 0;
	number = strtol(text, NULL, 10);
	if (strspn(text, "0123456789") != strlen(text) || errno != 0 ||
	    number < 1 || number > INT_MAX)
		return command_misused("%s: PID '%s' is not accepted; it takes "
				       "a process number",
				       command->name, text);
	*pid = (pid_t)number;
	return COMMAND_OK;
}

int
find_agent_look(struct process *process, pid_t pid, struct reason *reason)
{
	int error = process_status(process, pid);

	if (error == -ESRCH || (!error && process->state == 'Z'))
		return reason_set(reason, -ESRCH, "there is no process %d",
				  (int)pid);
	if (!error)
		error = process_library(process);
	if (error == -ENOENT)
		return reason_set(reason, error,
				  "the agent is not in process %d; start the "
				  "program with heapagent run",
				  (int)pid);
	if (error)
		return reason_set(reason, error, "process %d: %s", (int)pid,
				  strerror(-error));
	process_settings(process);
	return 0;
}

int
find_agent(const char *command, struct process *process, pid_t pid)
{
	struct reason reason;

	if (find_agent_look(process, pid, &reason))
		return command_fail("%s: %s", command, reason.text);
	return COMMAND_OK;
}
