/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_check.c - what google/pprof's Parse and CheckValid demand.
 *
 * As there, a location may name a mapping that does not exist: it is then in
 * none.
 */
#include "profile_check.h"

#include <errno.h>
#include <inttypes.h>

#include "table.h"

/* Deeper stacks than any unwinder makes, and more columns than any view has
 * room for: both bound the views' memory and time. */
#define FRAMES_MAX 65536
#define SAMPLE_TYPES_MAX 64
#define LABELS_MAX 4096

/* Of all stacks together, when their locations have lines: 16,384 stacks of
 * 512 frames with 3 functions inlined in each are a quarter. */
#define LINES_MAX (UINT64_C(1) << 27)

#define fail(...) reason_set(reason, -EINVAL, __VA_ARGS__)

static bool
is_string(const struct profile *profile, int64_t index)
{
	return index >= 0 && (uint64_t)index < profile->pb->n_string_table;
}

static bool
is_value_type(const struct profile *profile, const struct pb_value_type *type)
{
	return !type || (is_string(profile, type->type) &&
			 is_string(profile, type->unit));
}

static int
check_header(const struct profile *profile, struct reason *reason)
{
	const struct pb_profile *pb = profile->pb;
	if (!pb->n_string_table || pb->string_table[0][0])
		return fail("not a pprof profile (its string table does not "
			    "begin with \"\")");
	if (!pb->n_sample_type)
		return fail("no sample types");
	if (pb->n_sample_type > SAMPLE_TYPES_MAX)
		return fail("%zu sample types", pb->n_sample_type);
	bool good = is_string(profile, pb->drop_frames) &&
		    is_string(profile, pb->keep_frames) &&
		    is_string(profile, pb->default_sample_type) &&
		    is_string(profile, pb->doc_url) &&
		    is_value_type(profile, pb->period_type);
	for (size_t i = 0; i < pb->n_sample_type; i++)
		good = good && is_value_type(profile, pb->sample_type[i]);
	for (size_t i = 0; i < pb->n_comment; i++)
		good = good && is_string(profile, pb->comment[i]);
	return good ? 0 : fail("a string index is out of range");
}

static int
add_id(struct table *table, uint64_t id, uint64_t index, const char *what,
       struct reason *reason)
{
	if (!id)
		return fail("a %s has the reserved id 0", what);
	if (!table_add(table, &id, sizeof(id), &index))
		return fail("two %ss have the id %" PRIu64, what, id);
	return 0;
}

static int
check_mappings(const struct profile *profile, struct reason *reason)
{
	int status = 0;
	for (size_t i = 0; !status && i < profile->pb->n_mapping; i++) {
		const struct pb_mapping *mapping = profile->pb->mapping[i];
		if (!is_string(profile, mapping->filename) ||
		    !is_string(profile, mapping->build_id))
			return fail("mapping %" PRIu64
				    ": a string index is out of range",
				    mapping->id);
		status = add_id(profile->mappings, mapping->id, i, "mapping",
				reason);
	}
	return status;
}

static int
check_functions(struct profile *profile, struct reason *reason)
{
	int status = 0;
	for (size_t i = 0; !status && i < profile->pb->n_function; i++) {
		const struct pb_function *function = profile->pb->function[i];
		if (!is_string(profile, function->name) ||
		    !is_string(profile, function->system_name) ||
		    !is_string(profile, function->filename))
			return fail("function %" PRIu64
				    ": a string index is out of range",
				    function->id);
		if (function->id > profile->function_id_last)
			profile->function_id_last = function->id;
		status = add_id(profile->functions, function->id, i, "function",
				reason);
	}
	return status;
}

static int
check_locations(const struct profile *profile, struct reason *reason)
{
	int status = 0;
	for (size_t i = 0; !status && i < profile->pb->n_location; i++) {
		const struct pb_location *location = profile->pb->location[i];
		for (size_t j = 0; j < location->n_line; j++)
			if (!profile_function(profile,
					      location->line[j]->function_id))
				return fail("location %" PRIu64
					    " has a line without function",
					    location->id);
		status = add_id(profile->locations, location->id, i, "location",
				reason);
	}
	return status;
}

static int
check_sample(const struct profile *profile, const struct pb_sample *sample,
	     struct reason *reason)
{
	const struct pb_profile *pb = profile->pb;
	if (sample->n_value != pb->n_sample_type)
		return fail("a sample has %zu values, there are %zu sample "
			    "types",
			    sample->n_value, pb->n_sample_type);
	if (sample->n_location_id > FRAMES_MAX)
		return fail("a stack of %zu frames", sample->n_location_id);
	if (sample->n_label > LABELS_MAX)
		return fail("a sample with %zu labels", sample->n_label);
	for (size_t i = 0; i < sample->n_location_id; i++)
		if (!profile_location(profile, sample->location_id[i]))
			return fail("a sample has location %" PRIu64
				    ", which does not exist",
				    sample->location_id[i]);
	for (size_t i = 0; i < sample->n_label; i++) {
		const struct pb_label *label = sample->label[i];
		if (!is_string(profile, label->key) ||
		    !is_string(profile, label->str) ||
		    !is_string(profile, label->num_unit))
			return fail("a label's string index is out of range");
	}
	return 0;
}

int
profile_check(struct profile *profile, struct reason *reason)
{
	int status = check_header(profile, reason);
	if (!status)
		status = check_mappings(profile, reason);
	if (!status)
		status = check_functions(profile, reason);
	if (!status)
		status = check_locations(profile, reason);
	for (size_t i = 0; !status && i < profile->pb->n_sample; i++)
		status = check_sample(profile, profile->pb->sample[i], reason);
	return status;
}

int
profile_check_lines(const struct profile *profile, struct reason *reason)
{
	const struct pb_profile *pb = profile->pb;
	uint64_t lines = 0;
	for (size_t i = 0; i < pb->n_sample; i++) {
		const struct pb_sample *sample = pb->sample[i];
		for (size_t j = 0; j < sample->n_location_id; j++) {
			lines += 1 + profile_location(profile,
						      sample->location_id[j])
					     ->n_line;
			if (lines > LINES_MAX)
				return fail("more than %" PRIu64
					    " frames in all stacks",
					    LINES_MAX);
		}
	}
	return 0;
}
