/* SPDX-License-Identifier: Apache-2.0 */
/*
 * missing.h - what a heap profile says that it lacks: in its comments are the
 * agent's counters.
 */
#ifndef HEAPAGENT_MISSING_H
#define HEAPAGENT_MISSING_H

#include "profile.h"

/* A counter in the comments, of either format; 0 if it is not there. */
double missing_counter(const struct profile *profile, const char *name);

/*
 * A line each, with its end, for what is true: the share of the allocations
 * whose samples were dropped, and why; who serves malloc past the agent; that
 * nothing was sampled. "" where all is there. To be freed.
 */
char *missing_text(const struct profile *profile);

/*
 * "12 % of the allocated bytes (1.2 MiB)", and what was dropped most; "" if
 * nothing was. samples are those that were taken; counters by enum counter.
 */
struct missing_line {
	char text[256];
};
struct missing_line missing_line(const double *counters, double samples,
				 double alloc_bytes);

#endif
