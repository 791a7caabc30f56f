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

#include "command.h"
#include "memory.h"
#include "missing.h"
#include "options.h"
#include "output.h"
#include "profile_edit.h"

static int
write_reduced(struct profile *profile, const char *out)
{
	size_t before = profile->pb->n_sample;
	/* Of the allocations, which the result has not. */
	char *missing = missing_text(profile);
	if (!profile_edit_keep_types(profile, "inuse_")) {
		free(missing);
		return command_fail("%s: no heap profile (it has no sample "
				    "type inuse_...)",
				    profile->path);
	}
	profile_edit_drop_empty(profile);
	char *what = memory_format("%zu of %zu samples", profile->pb->n_sample,
				   before);
	int status = output_profile(profile, out, ".inuse.pb.gz", what);
	if (!status)
		fputs(missing, stderr);
	free(missing);
	free(what);
	return status;
}

static int
run(int argc, char **argv)
{
	struct profile *profile = NULL;
	struct reason reason;
	const char *out = NULL;
	int status = options_read(&command_inuse, argc, argv, options_set_text,
				  &out);
	if (!status)
		status = options_count(&command_inuse, argc, argv, 1, 1);
	if (!status && profile_read(argv[optind], &profile, &reason))
		status = command_fail("%s: %s", argv[optind], reason.text);
	if (!status)
		status = write_reduced(profile, out);
	profile_free(profile);
	return status;
}

static const struct option_row own_options[] = {
	{ 'o', "output", "OUT",
	  "the file, a directory for it, or - (X.inuse.pb.gz)" },
	{ .name = NULL },
};

static const struct option_row *const options[] = { own_options, NULL };

const struct command command_inuse = {
	.name = "inuse",
	.arguments = "FILE",
	.summary = "A smaller profile, of what is held and nothing else",
	.options = options,
	.run = run,
};
