/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - the files that commands make of profiles.
 */
#ifndef HEAPAGENT_OUTPUT_H
#define HEAPAGENT_OUTPUT_H

#include "profile.h"

/*
 * out, if it is given and no directory; else X with the ending (".html") for
 * X.pb.gz, in the directory out or beside the input; of standard input, "-"
 * or "stdin" in the directory. To be freed.
 */
char *output_name(const char *input, const char *out, const char *ending);

/*
 * "NAME: what" on standard output, unless that is where it went. Of the name,
 * nothing is printed that a terminal would obey.
 */
void output_made(const char *name, const char *what);

/*
 * Writes the profile under the name that output_name() makes of its path, and
 * says "NAME: what", unless it went to standard output. COMMAND_OK, or
 * COMMAND_FAILED, the reason said.
 */
int output_profile(const struct profile *profile, const char *out,
		   const char *ending, const char *what);

#endif
