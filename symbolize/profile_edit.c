/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_edit.c - leaves parts of a profile out.
 */
#include "profile_edit.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "table.h"

static bool
has_prefix(const struct profile *profile, size_t type, const char *prefix)
{
	const char *name =
		profile_text(profile, profile->pb->sample_type[type]->type);
	return !strncmp(name, prefix, strlen(prefix));
}

static void
keep_values(struct pb_sample *sample, const bool *keep)
{
	size_t kept = 0;
	for (size_t i = 0; i < sample->n_value; i++)
		if (keep[i])
			sample->value[kept++] = sample->value[i];
	sample->n_value = kept;
}

bool
profile_edit_keep_types(struct profile *profile, const char *prefix)
{
	struct pb_profile *pb = profile->pb;
	bool *keep = memory_get(pb->n_sample_type * sizeof(*keep));
	size_t kept = 0;
	for (size_t i = 0; i < pb->n_sample_type; i++)
		kept += keep[i] = has_prefix(profile, i, prefix);
	if (!kept) {
		free(keep);
		return false;
	}
	for (size_t i = 0; i < pb->n_sample; i++)
		keep_values(pb->sample[i], keep);
	kept = 0;
	for (size_t i = 0; i < pb->n_sample_type; i++)
		if (keep[i])
			pb->sample_type[kept++] = pb->sample_type[i];
		else
			protobuf_c_message_free_unpacked(
				&pb->sample_type[i]->base, NULL);
	pb->n_sample_type = kept;
	free(keep);
	const char *wish = profile_text(profile, pb->default_sample_type);
	if (profile_sample_type(profile, wish) < 0)
		pb->default_sample_type = pb->sample_type[kept - 1]->type;
	return true;
}

static bool
is_empty(const struct pb_sample *sample)
{
	for (size_t i = 0; i < sample->n_value; i++)
		if (sample->value[i])
			return false;
	return true;
}

static void
drop_samples(struct pb_profile *pb)
{
	size_t kept = 0;
	for (size_t i = 0; i < pb->n_sample; i++)
		if (is_empty(pb->sample[i]))
			protobuf_c_message_free_unpacked(&pb->sample[i]->base,
							 NULL);
		else
			pb->sample[kept++] = pb->sample[i];
	pb->n_sample = kept;
}

static void
mark(struct table *used, uint64_t id)
{
	uint64_t value = 0;
	table_add(used, &id, sizeof(id), &value);
}

static bool
is_marked(const struct table *used, uint64_t id)
{
	uint64_t value;
	return table_find(used, &id, sizeof(id), &value);
}

/* Positions changed: the tables are built anew. */
static void
index_again(struct profile *profile)
{
	struct pb_profile *pb = profile->pb;
	table_free(profile->locations);
	table_free(profile->functions);
	profile->locations = table_new();
	profile->functions = table_new();
	for (uint64_t i = 0; i < pb->n_location; i++) {
		uint64_t index = i;
		table_add(profile->locations, &pb->location[i]->id,
			  sizeof(uint64_t), &index);
	}
	for (uint64_t i = 0; i < pb->n_function; i++) {
		uint64_t index = i;
		table_add(profile->functions, &pb->function[i]->id,
			  sizeof(uint64_t), &index);
	}
}

static void
drop_locations(struct pb_profile *pb, const struct table *used,
	       struct table *used_functions)
{
	size_t kept = 0;
	for (size_t i = 0; i < pb->n_location; i++) {
		struct pb_location *location = pb->location[i];
		if (!is_marked(used, location->id)) {
			protobuf_c_message_free_unpacked(&location->base, NULL);
			continue;
		}
		pb->location[kept++] = location;
		for (size_t j = 0; j < location->n_line; j++)
			mark(used_functions, location->line[j]->function_id);
	}
	pb->n_location = kept;
}

static void
drop_functions(struct pb_profile *pb, const struct table *used)
{
	size_t kept = 0;
	for (size_t i = 0; i < pb->n_function; i++)
		if (is_marked(used, pb->function[i]->id))
			pb->function[kept++] = pb->function[i];
		else
			protobuf_c_message_free_unpacked(&pb->function[i]->base,
							 NULL);
	pb->n_function = kept;
}

void
profile_edit_drop_empty(struct profile *profile)
{
	struct pb_profile *pb = profile->pb;
	struct table *locations = table_new(), *functions = table_new();
	drop_samples(pb);
	for (size_t i = 0; i < pb->n_sample; i++)
		for (size_t j = 0; j < pb->sample[i]->n_location_id; j++)
			mark(locations, pb->sample[i]->location_id[j]);
	drop_locations(pb, locations, functions);
	drop_functions(pb, functions);
	table_free(locations);
	table_free(functions);
	index_again(profile);
}
