/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_name.h - what a command calls the profile that it makes of another.
 */
#ifndef HEAPAGENT_OUTPUT_NAME_H
#define HEAPAGENT_OUTPUT_NAME_H

/*
 * out, if it is given and no directory; else X with the ending (".html") for
 * X.pb.gz, in the directory out or beside the input. To be freed.
 */
char *output_name(const char *input, const char *out, const char *ending);

#endif
