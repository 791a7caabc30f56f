/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heading.h - what stands above every table: program, type, time, total.
 */
#ifndef HEAPAGENT_HEADING_H
#define HEAPAGENT_HEADING_H

#include "samples.h"

/* "File: …", "Type: …", "Time: …", as go tool pprof has them; and what is
 * missing in the profile (missing.h). */
void heading_print(const struct samples *samples, int type);

/*
 * Opens a JSON object: {"file":…,"sample_type":…,"unit":…,"total":…, the
 * total's standard error, whether values are estimates. The caller goes on
 * with a comma and closes it.
 */
void heading_json(const struct samples *samples, int type);

/* The name of the program that was profiled, or "". */
const char *heading_program(const struct profile *profile);

/* Text to the right in so many columns of a terminal. */
void heading_right(const char *text, int width);

#endif
