/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_delta.c - `heapagent delta`: allocations between two dumps.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "delta.h"
#include "options.h"
#include "output_name.h"
#include "units.h"

static int
write_delta(const struct profile *before, struct profile *after,
	    const char *out)
{
	struct reason reason;
	if (delta_make(before, after, &reason))
		return command_fail("%s: %s", after->path, reason.text);
	char *name = output_name(after->path, out, ".delta.pb.gz");
	int status = COMMAND_OK;
	if (profile_write(after, name, &reason))
		status = command_fail("%s: %s", name, reason.text);
	else if (strcmp(name, "-"))
		printf("%s: %zu samples in %s\n", name, after->pb->n_sample,
		       units_value((double)after->pb->duration_nanos,
				   "nanoseconds")
			       .text);
	free(name);
	return status;
}

static int
run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ NULL, 0, NULL, 0 },
	};
	struct profile *profiles[2] = { NULL, NULL };
	struct reason reason;
	const char *out = NULL;
	int option, status = COMMAND_OK;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":o:", long_options, NULL)) !=
	       -1) {
		if (option != 'o')
			return options_misused(option, argv);
		out = optarg;
	}
	if (optind + 2 != argc)
		return command_misused("delta: two files are wanted, the "
				       "earlier one first");
	for (int i = 0; !status && i < 2; i++)
		if (profile_read(argv[optind + i], &profiles[i], &reason))
			status = command_fail("%s: %s", argv[optind + i],
					      reason.text);
	if (!status)
		status = write_delta(profiles[0], profiles[1], out);
	profile_free(profiles[0]);
	profile_free(profiles[1]);
	return status;
}

const struct command command_delta = {
	.name = "delta",
	.arguments = "BEFORE AFTER [-o OUT]",
	.summary = "The allocations between two dumps of a process",
	.options = "  -o OUT            the file to write, a directory, or - "
		   "(default: AFTER's name .delta.pb.gz)\n",
	.run = run,
};
