/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_inuse.c - `heapagent inuse`: what is held, without its history.
 *
 * All allocations since the start are in a heap profile; most of its stacks
 * hold nothing any more. Without them the file is a fraction of the size.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "output_name.h"
#include "profile_edit.h"

static int
reduce(const char *path, const char *out)
{
	struct profile *profile;
	struct reason reason;
	if (profile_read(path, &profile, &reason))
		return command_fail("%s: %s", path, reason.text);
	size_t before = profile->pb->n_sample;
	int status = COMMAND_OK;
	char *name = output_name(path, out, ".inuse.pb.gz");
	if (!profile_edit_keep_types(profile, "inuse_")) {
		status = command_fail("%s: no heap profile (it has no sample "
				      "type inuse_...)",
				      path);
	} else {
		profile_edit_drop_empty(profile);
		if (profile_write(profile, name, &reason))
			status = command_fail("%s: %s", name, reason.text);
		else if (strcmp(name, "-"))
			printf("%s: %zu of %zu samples\n", name,
			       profile->pb->n_sample, before);
	}
	free(name);
	profile_free(profile);
	return status;
}

static int
run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ NULL, 0, NULL, 0 },
	};
	const char *out = NULL;
	int option;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":o:", long_options, NULL)) !=
	       -1) {
		if (option != 'o')
			return options_misused(option, argv);
		out = optarg;
	}
	if (optind + 1 != argc)
		return command_misused("inuse: one file is wanted");
	return reduce(argv[optind], out);
}

const struct command command_inuse = {
	.name = "inuse",
	.arguments = "FILE [-o OUT]",
	.summary = "A smaller profile, of what is held and nothing else",
	.options = "  -o OUT            the file to write, a directory, or - "
		   "(default: X.inuse.pb.gz)\n",
	.run = run,
};
