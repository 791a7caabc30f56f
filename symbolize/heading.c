/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heading.c - what stands above every table: program, type, time, total.
 */
#include "heading.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "estimate.h"
#include "json.h"
#include "missing.h"
#include "units.h"

void
heading_right(const char *text, int width)
{
	int columns = (int)units_columns(text);
	printf("%*s%s", columns < width ? width - columns : 1, "", text);
}

const char *
heading_program(const struct profile *profile)
{
	const struct pb_profile *pb = profile->pb;
	/* mapping[0] is the main binary, by the format's convention. */
	const char *path =
		pb->n_mapping ? profile_text(profile, pb->mapping[0]->filename)
			      : "";
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

void
heading_print(const struct samples *samples, int type)
{
	const struct profile *profile = samples->profile;
	const struct pb_profile *pb = profile->pb;
	const char *program = heading_program(profile);
	if (*program)
		printf("File: %s\n", program);
	printf("Type: %s\n",
	       profile_text(profile, pb->sample_type[type]->type));
	time_t seconds = (time_t)(pb->time_nanos / 1000000000);
	struct tm tm;
	char text[64];
	if (pb->time_nanos > 0 && localtime_r(&seconds, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %Z", &tm))
		printf("Time: %s\n", text);
	if (pb->duration_nanos > 0)
		printf("Duration: %s\n",
		       units_value((double)pb->duration_nanos, "nanoseconds")
			       .text);
	char *missing = missing_text(profile);
	fputs(missing, stdout);
	free(missing);
}

void
heading_json(const struct samples *samples, int type)
{
	const struct profile *profile = samples->profile;
	const struct pb_value_type *value = profile->pb->sample_type[type];
	fputs("{\"file\":", stdout);
	json_string(stdout, profile->path);
	fputs(",\"program\":", stdout);
	json_string(stdout, heading_program(profile));
	fputs(",\"sample_type\":", stdout);
	json_string(stdout, profile_text(profile, value->type));
	fputs(",\"unit\":", stdout);
	json_string(stdout, profile_text(profile, value->unit));
	printf(",\"is_estimate\":%s",
	       estimate_is_one(profile, type) ? "true" : "false");
	fputs(",\"total\":", stdout);
	json_number(stdout, samples->totals[type]);
	fputs(",\"total_standard_error\":", stdout);
	json_number(stdout, sqrt(samples->total_variances[type]));
	fputs(",\"dropped_bytes\":", stdout);
	json_number(stdout, missing_counter(profile, "dropped_bytes"));
}
