/* SPDX-License-Identifier: Apache-2.0 */
/*
 * estimate.c - how far a sampled value may be from the truth.
 */
#include "estimate.h"

#include <math.h>
#include <string.h>

double
estimate_block_variance(double blocks, double block_bytes, double rate_bytes)
{
	if (rate_bytes <= 1 || block_bytes <= 0)
		return 0;
	/* (1-p)/p with p = 1 - exp(-S/R) is 1/(exp(S/R) - 1). */
	return fabs(blocks) / expm1(block_bytes / rate_bytes);
}

static const char *
type_name(const struct profile *profile, int type)
{
	return profile_text(profile, profile->pb->sample_type[type]->type);
}

static bool
has_unit(const struct profile *profile, const struct pb_value_type *type,
	 const char *unit)
{
	return type && !strcmp(profile_text(profile, type->unit), unit);
}

bool
estimate_is_one(const struct profile *profile, int type)
{
	const struct pb_profile *pb = profile->pb;
	return pb->period > 1 && has_unit(profile, pb->period_type, "bytes") &&
	       (has_unit(profile, pb->sample_type[type], "bytes") ||
		has_unit(profile, pb->sample_type[type], "count"));
}

/* "inuse_space" → the index of "inuse_objects" and the reverse; or -1. */
static int
partner_of(const struct profile *profile, int type)
{
	static const char *const pairs[][2] = {
		{ "alloc_objects", "alloc_space" },
		{ "inuse_objects", "inuse_space" },
		{ "objects", "space" },
		{ "allocations", "size" },
	};
	const char *name = type_name(profile, type);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		for (int side = 0; side < 2; side++)
			if (!strcmp(name, pairs[i][side]))
				return profile_sample_type(profile,
							   pairs[i][1 - side]);
	return -1;
}

static double
block_bytes_of(const struct profile *profile, const struct pb_sample *sample,
	       int space, int objects)
{
	for (size_t i = 0; i < sample->n_label; i++) {
		const struct pb_label *label = sample->label[i];
		if (label->num > 0 &&
		    !strcmp(profile_text(profile, label->key), "bytes"))
			return (double)label->num;
	}
	if (space < 0 || objects < 0 || !sample->value[objects])
		return 0;
	return (double)sample->value[space] / (double)sample->value[objects];
}

double
estimate_sample_variance(const struct profile *profile,
			 const struct pb_sample *sample, int type)
{
	if (!estimate_is_one(profile, type) || !sample->value[type])
		return 0;
	bool is_space =
		has_unit(profile, profile->pb->sample_type[type], "bytes");
	int partner = partner_of(profile, type);
	double bytes =
		block_bytes_of(profile, sample, is_space ? type : partner,
			       is_space ? partner : type);
	double value = (double)sample->value[type];
	double rate = (double)profile->pb->period;
	if (bytes <= 0)
		return 0;
	if (!is_space)
		return estimate_block_variance(value, bytes, rate);
	return bytes * bytes *
	       estimate_block_variance(value / bytes, bytes, rate);
}
