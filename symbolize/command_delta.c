/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_delta.c - `heapagent delta`: allocations between two dumps.
 */
#include <getopt.h>
#include <stdlib.h>

#include "command.h"
#include "delta.h"
#include "memory.h"
#include "options.h"
#include "output.h"
#include "units.h"

static int
write_delta(const struct profile *before, struct profile *after,
	    const char *out)
{
	struct reason reason;
	if (delta_make(before, after, &reason))
		return command_fail("%s: %s", after->path, reason.text);
	char *what =
		memory_format("%zu samples in %s", after->pb->n_sample,
			      units_value((double)after->pb->duration_nanos,
					  "nanoseconds")
				      .text);
	int status = output_profile(after, out, ".delta.pb.gz", what);
	free(what);
	return status;
}

static int
run(int argc, char **argv)
{
	struct profile *profiles[2] = { NULL, NULL };
	struct reason reason;
	const char *out = NULL;
	int status = options_read(&command_delta, argc, argv, options_set_text,
				  &out);
	if (!status)
		status = options_count(&command_delta, argc, argv, 2, 2);
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

static const struct option_row own_options[] = {
	{ 'o', "output", "OUT",
	  "the file, a directory for it, or - (X.delta.pb.gz)" },
	{ .name = NULL },
};

static const struct option_row *const options[] = { own_options, NULL };

const struct command command_delta = {
	.name = "delta",
	.arguments = "BEFORE AFTER",
	.summary = "The allocations between two dumps of a process",
	.options = options,
	.run = run,
};
