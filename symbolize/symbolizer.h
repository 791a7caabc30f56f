/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolizer.h - puts names, files and lines into a profile.
 */
#ifndef HEAPAGENT_SYMBOLIZER_H
#define HEAPAGENT_SYMBOLIZER_H

#include "locate.h"
#include "profile.h"

struct symbolizer_options {
	struct locate_options locate;
	bool no_inlines;      /* only the function that was not inlined */
	const char *perf_map; /* NULL: /tmp/perf-PID.map, PID of the name */
	bool quiet;	      /* nothing on standard error */
};

struct symbolizer_counts {
	size_t locations;  /* that had no names before */
	size_t unresolved; /* and have none now */
	size_t refused;	   /* files with the wrong build-id */
	size_t lost; /* files that could not be read, or not to their end */
};

/*
 * Gives each location that has none its lines, innermost inlined function
 * first. All else stays as it is. Names each refused and each lost file on
 * standard error, unless quiet.
 */
void symbolizer_run(struct profile *profile,
		    const struct symbolizer_options *options,
		    struct symbolizer_counts *counts);

/* Whether a location lacks names that the run could find. */
bool symbolizer_needed(const struct profile *profile);

#endif
