/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapagent.c - the command `heapagent`: picks the subcommand.
 */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "similar.h"

static const struct command *const commands[] = {
	&command_run,	&command_dump,	&command_symbolize, &command_top,
	&command_tree,	&command_peek,	&command_diff,	    &command_flame,
	&command_inuse, &command_delta, &command_text,	    &command_status,
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void
print_help(FILE *out)
{
	fputs("Usage: heapagent COMMAND [ARGUMENT]...\n"
	      "Heap and thread profiles of running programs, in pprof's "
	      "format.\n\n",
	      out);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(out, "  %-11s %s\n", commands[i]->name,
			commands[i]->summary);
	fputs("  help        this text, or `heapagent COMMAND --help`\n"
	      "  --version   the version\n",
	      out);
}

static const struct command *
find(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static int
unknown(const char *name)
{
	char accepted[1024] = "";
	size_t used = 0;
	struct similar similar = similar_to(name, strlen(name));

	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		used += (size_t)snprintf(accepted + used,
					 sizeof(accepted) - used, "%s, ",
					 commands[i]->name);
		similar_add(&similar, commands[i]->name);
	}
	similar_add(&similar, "help");
	const char *near = similar.nearest;
	return command_misused("unknown command '%s'; %s%s%sthere are %shelp",
			       name, near ? "did you mean '" : "",
			       near ? near : "", near ? "'? " : "", accepted);
}

static int
surplus(const char *word, const char *call)
{
	return command_misused("too many arguments, from '%s' on; the call is "
			       "heapagent %s",
			       word, call);
}

static int
help(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		print_help(stdout);
		return COMMAND_OK;
	}
	command = find(argv[1]);
	if (!command)
		return unknown(argv[1]);
	if (argc > 2)
		return surplus(argv[2], "help [COMMAND]");
	options_help(command);
	return COMMAND_OK;
}

static int
dispatch(int argc, char **argv)
{
	const struct command *command;

	if (strcmp(argv[0], "help") == 0 || strcmp(argv[0], "--help") == 0 ||
	    strcmp(argv[0], "-h") == 0)
		return help(argc, argv);
	if (strcmp(argv[0], "--version") == 0) {
		if (argc > 1)
			return surplus(argv[1], "--version");
		puts("heapagent " HEAPAGENT_VERSION);
		return COMMAND_OK;
	}
	command = find(argv[0]);
	if (!command)
		return unknown(argv[0]);
	int status = command->run(argc, argv);
	return status == COMMAND_DONE ? COMMAND_OK : status;
}

int
main(int argc, char **argv)
{
	int status;

	if (argc < 2) {
		print_help(stderr);
		return COMMAND_USAGE;
	}
	status = dispatch(argc - 1, argv + 1);
	/* Output that did not reach its file is a failure (a full disk). */
	if (status == COMMAND_OK && (fflush(stdout) != 0 || ferror(stdout)))
		return command_fail("cannot write the output: %m");
	return status;
}
