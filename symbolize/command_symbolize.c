/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_symbolize.c - `heapagent symbolize`: names in place of addresses.
 */
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>

#include "command.h"
#include "memory.h"
#include "options.h"
#include "output.h"
#include "symbolizer.h"

struct job {
	struct symbolizer_options symbolizer;
	const char *out;
};

static int
symbolize_file(const struct job *job, const char *path)
{
	struct profile *profile;
	struct symbolizer_counts counts;
	struct reason reason;
	if (profile_read(path, &profile, &reason))
		return command_fail("%s: %s", path, reason.text);
	symbolizer_run(profile, &job->symbolizer, &counts);
	char *what = memory_format("%zu of %zu addresses named, %zu unresolved",
				   counts.locations - counts.unresolved,
				   counts.locations, counts.unresolved);
	int status =
		output_profile(profile, job->out, ".symbolized.pb.gz", what);
	/* The names of the other files are there; still something went wrong.
	 */
	if (counts.lost)
		status = COMMAND_FAILED;
	free(what);
	profile_free(profile);
	return status;
}

static const char *
set(void *context, int key, const char *value)
{
	struct job *job = context;
	const char *accepted;
	if (options_set_symbolizer(&job->symbolizer, key, value, &accepted))
		return accepted;
	job->out = value;
	return options_output(value);
}

static int
run(int argc, char **argv)
{
	struct job job = { .out = NULL };
	int status = options_read(&command_symbolize, argc, argv, set, &job);
	if (!status)
		status = options_count(&command_symbolize, argc, argv, 1,
				       INT_MAX);
	if (!status && argc - optind > 1 && job.out &&
	    options_directory(job.out))
		status = command_misused("symbolize: of several files, "
					 "--output '%s' is not accepted; it "
					 "takes a directory that exists",
					 job.out);
	if (!status)
		/* One that fails does not keep the others from their names. */
		for (int i = optind; i < argc; i++)
			if (symbolize_file(&job, argv[i]))
				status = COMMAND_FAILED;
	free(job.symbolizer.locate.debug_dirs);
	return status;
}

static const struct option_row own_options[] = {
	{ 'o', "output", "OUT",
	  "the file, a directory, or - (X.symbolized.pb.gz)" },
	{ .name = NULL },
};

static const struct option_row *const options[] = {
	own_options,
	options_symbolizer,
	NULL,
};

const struct command command_symbolize = {
	.name = "symbolize",
	.arguments = "FILE...",
	.summary = "Names, files, lines and inlined functions in place of "
		   "addresses",
	.options = options,
	.run = run,
};
