/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_symbolize.c - `heapagent symbolize`: names in place of addresses.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "options.h"
#include "output_name.h"
#include "profile.h"
#include "symbolizer.h"

struct job {
	struct symbolizer_options symbolizer;
	const char *out;
};

enum { OPT_OUT = 'o' };

static int
symbolize_file(const struct job *job, const char *path)
{
	struct profile *profile;
	struct symbolizer_counts counts;
	struct reason reason;
	if (profile_read(path, &profile, &reason))
		return command_fail("%s: %s", path, reason.text);
	symbolizer_run(profile, &job->symbolizer, &counts);
	char *out = output_name(path, job->out, ".symbolized.pb.gz");
	int status = COMMAND_OK;
	if (profile_write(profile, out, &reason))
		status = command_fail("%s: %s", out, reason.text);
	else if (strcmp(out, "-"))
		printf("%s: %zu of %zu addresses named, %zu unresolved\n", out,
		       counts.locations - counts.unresolved, counts.locations,
		       counts.unresolved);
	/* The names of the other files are there; still something went wrong.
	 */
	if (counts.lost)
		status = COMMAND_FAILED;
	free(out);
	profile_free(profile);
	return status;
}

static int
run(int argc, char **argv)
{
	static const struct option long_options[] = {
		OPTIONS_SYMBOLIZER,
		{ "output", required_argument, NULL, OPT_OUT },
		{ NULL, 0, NULL, 0 },
	};
	struct job job = { .out = NULL };
	int option;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":o:", long_options, NULL)) !=
	       -1) {
		if (option == OPT_OUT)
			job.out = optarg;
		else if (!options_symbolizer(option, &job.symbolizer))
			return options_misused(option, argv);
	}
	if (optind == argc)
		return command_misused("symbolize: no file given");
	struct stat status;
	if (argc - optind > 1 && job.out &&
	    (stat(job.out, &status) || !S_ISDIR(status.st_mode)))
		return command_misused("symbolize: several files, but -o %s "
				       "is no directory",
				       job.out);
	int result = COMMAND_OK;
	for (int i = optind; i < argc; i++) {
		int one = symbolize_file(&job, argv[i]);
		result = one ? one : result;
	}
	return result;
}

const struct command command_symbolize = {
	.name = "symbolize",
	.arguments = "FILE... [-o OUT]",
	.summary = "Names, files, lines and inlined functions in place of "
		   "addresses",
	.options = "  -o OUT            the file to write, a directory, or -\n "
		   "                   "
		   "(default: X.symbolized.pb.gz)\n" OPTIONS_SYMBOLIZER_HELP,
	.run = run,
};
