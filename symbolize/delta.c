/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delta.c - the allocations between two dumps of one process.
 *
 * Samples of the two are the same if their stacks and the class of their
 * block size are. Of one process the size itself is the same, too; but in files
 * of older agents, and in texts of other programs, it is a mean, which moves:
 * within its class, of which there are four to each power of two. Locations are
 * the same if file, build-id and offset are: identifiers and addresses mean
 * nothing from one file to the next.
 */
#include "delta.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "profile_edit.h"
#include "table.h"

struct delta {
	struct table *places; /* text of a location → its number */
	struct table *rows;   /* struct key → index in values */
	int64_t *values;      /* what before has, VALUES for each row */
	size_t count, capacity;
};

/* The types, in the order in which they are kept. */
enum { OBJECTS, SPACE, VALUES };
static const char *const type_names[VALUES] = { "alloc_objects",
						"alloc_space" };

static uint32_t
place_of(struct delta *delta, const struct profile *profile,
	 const struct pb_location *location)
{
	const struct pb_mapping *mapping =
		profile_mapping(profile, location->mapping_id);
	char *text;
	if (mapping)
		text = memory_format("%s %s %" PRIx64,
				     profile_text(profile, mapping->filename),
				     profile_text(profile, mapping->build_id),
				     location->address - mapping->memory_start +
					     mapping->file_offset);
	else
		text = memory_format("%" PRIx64, location->address);
	/* Where there are no addresses, the functions tell places apart. */
	for (size_t i = 0; i < location->n_line && !location->address; i++) {
		const struct pb_line *line = location->line[i];
		const struct pb_function *function =
			profile_function(profile, line->function_id);
		char *longer =
			memory_format("%s %s:%" PRId64, text,
				      profile_text(profile, function->name),
				      line->line);
		free(text);
		text = longer;
	}
	uint64_t number = table_count(delta->places);
	table_add(delta->places, text, strlen(text), &number);
	free(text);
	return (uint32_t)number;
}

static struct pb_label *
bytes_label(const struct profile *profile, const struct pb_sample *sample)
{
	for (size_t i = 0; i < sample->n_label; i++)
		if (!strcmp(profile_text(profile, sample->label[i]->key),
			    "bytes"))
			return sample->label[i];
	return NULL;
}

/* Four classes to each power of two, as the agent counts. */
static uint32_t
size_class(int64_t bytes)
{
	uint64_t size = bytes > 4 ? (uint64_t)bytes : 4;
	unsigned power = 63 - (unsigned)__builtin_clzll(size);
	return 4 * power + (uint32_t)(size >> (power - 2) & 3);
}

/* The key of a sample: its class, then the numbers of its places. */
static uint32_t *
key_of(struct delta *delta, const struct profile *profile,
       const struct pb_sample *sample, size_t *key_bytes)
{
	const struct pb_label *label = bytes_label(profile, sample);
	uint32_t *key = memory_get((sample->n_location_id + 1) * sizeof(*key));
	key[0] = label ? size_class(label->num) : 0;
	for (size_t i = 0; i < sample->n_location_id; i++)
		key[i + 1] = place_of(delta, profile,
				      profile_location(profile,
						       sample->location_id[i]));
	*key_bytes = (sample->n_location_id + 1) * sizeof(*key);
	return key;
}

static void
add_before(struct delta *delta, const struct profile *profile,
	   const int types[VALUES])
{
	for (size_t i = 0; i < profile->pb->n_sample; i++) {
		const struct pb_sample *sample = profile->pb->sample[i];
		size_t key_bytes;
		uint32_t *key = key_of(delta, profile, sample, &key_bytes);
		uint64_t row = delta->count;
		if (table_add(delta->rows, key, key_bytes, &row)) {
			if (delta->count == delta->capacity) {
				delta->capacity = 2 * delta->capacity + 64;
				delta->values =
					memory_resize(delta->values,
						      delta->capacity,
						      VALUES * sizeof(int64_t));
			}
			memset(&delta->values[VALUES * row], 0,
			       VALUES * sizeof(int64_t));
			delta->count++;
		}
		free(key);
		for (int j = 0; j < VALUES; j++) {
			int64_t *sum = &delta->values[VALUES * row + (size_t)j];
			if (__builtin_add_overflow(*sum,
						   sample->value[types[j]],
						   sum))
				*sum = INT64_MAX;
		}
	}
}

/* False if something was allocated before that was not any more after. */
static bool
subtract(struct delta *delta, const struct profile *after)
{
	for (size_t i = 0; i < after->pb->n_sample; i++) {
		struct pb_sample *sample = after->pb->sample[i];
		size_t key_bytes;
		uint64_t row;
		uint32_t *key = key_of(delta, after, sample, &key_bytes);
		bool known = table_find(delta->rows, key, key_bytes, &row);
		free(key);
		for (int j = 0; known && j < VALUES; j++) {
			int64_t *had = &delta->values[VALUES * row + (size_t)j];
			int64_t taken = *had < sample->value[j]
						? *had
						: sample->value[j];
			sample->value[j] -= taken;
			*had -= taken;
		}
	}
	for (size_t i = 0; i < VALUES * delta->count; i++)
		if (delta->values[i] > 0)
			return false;
	return true;
}

static int
find_types(const struct profile *profile, int types[VALUES],
	   struct reason *reason)
{
	const struct pb_profile *pb = profile->pb;
	for (int i = 0; i < VALUES; i++) {
		types[i] = profile_sample_type(profile, type_names[i]);
		if (types[i] < 0)
			return reason_set(reason, -EINVAL, "no sample type %s",
					  type_names[i]);
		for (size_t k = 0; k < pb->n_sample; k++)
			if (pb->sample[k]->value[types[i]] < 0)
				return reason_set(reason, -EINVAL,
						  "%s below zero",
						  type_names[i]);
	}
	return 0;
}

static int
set_times(const struct profile *before, struct profile *after,
	  struct reason *reason)
{
	int64_t begin = before->pb->time_nanos, end = after->pb->time_nanos;
	if (begin > end ||
	    __builtin_sub_overflow(end, begin, &after->pb->duration_nanos))
		return reason_set(reason, -EINVAL, "it is older than %.100s",
				  before->path);
	after->pb->time_nanos = begin;
	return 0;
}

int
delta_make(const struct profile *before, struct profile *after,
	   struct reason *reason)
{
	int before_types[VALUES], types[VALUES];
	int status = find_types(before, before_types, reason);
	if (!status)
		status = set_times(before, after, reason);
	if (!status && !profile_edit_keep_types(after, "alloc_"))
		status = reason_set(reason, -EINVAL, "no sample type alloc_");
	if (!status)
		status = find_types(after, types, reason);
	if (!status && (types[OBJECTS] != OBJECTS || types[SPACE] != SPACE))
		status = reason_set(reason, -EINVAL,
				    "alloc_space before alloc_objects");
	if (status)
		return status;
	struct delta delta = { .places = table_new(), .rows = table_new() };
	add_before(&delta, before, before_types);
	if (!subtract(&delta, after))
		status = reason_set(reason, -EINVAL,
				    "%.100s has allocations that this has "
				    "not: they are not of one process",
				    before->path);
	table_free(delta.places);
	table_free(delta.rows);
	free(delta.values);
	if (!status)
		profile_edit_drop_empty(after);
	return status;
}
