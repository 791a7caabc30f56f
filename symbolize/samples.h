/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.h - a profile as the views see it: stacks of names, with values.
 *
 * Inlined functions are frames of their own. What has no name is called
 * FILE+0xOFFSET. Stacks are the innermost frame first.
 */
#ifndef HEAPAGENT_SAMPLES_H
#define HEAPAGENT_SAMPLES_H

#include "pattern.h"
#include "profile.h"

struct samples_filter {
	struct pattern *focus;	/* only stacks with such a frame; NULL: all */
	struct pattern *ignore; /* no stacks with such a frame; NULL: none */
	bool full_names;	/* C++ names with parameters and arguments */
};

struct sample_row {
	const uint32_t *frames; /* numbers of names */
	size_t frame_count;
	double *values; /* one for each sample type */
	double *variances;
};

struct samples {
	const struct profile *profile;
	struct table *numbers; /* name → its number */
	char **names;
	size_t name_count, name_capacity;
	struct sample_row *rows;
	size_t row_count, row_capacity;
	size_t type_count;
	double *totals; /* of the whole profile, filters or not */
	double *total_variances;
};

/*
 * The profile must outlive the result. names_of, if not NULL, are samples
 * whose numbering of names is continued, so that numbers of both mean the same
 * (the new one then has all of its names and more).
 */
struct samples *samples_make(const struct profile *profile,
			     const struct samples_filter *filter,
			     const struct samples *names_of);
void samples_free(struct samples *samples);

#endif
