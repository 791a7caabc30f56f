/* SPDX-License-Identifier: Apache-2.0 */
/*
 * legacy_place.c - locations into mappings, by address; see legacy_place.h.
 */
#include "legacy_place.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

static int
by_start(const void *a, const void *b)
{
	const struct pb_mapping *const *x = a, *const *y = b;
	return ((*x)->memory_start > (*y)->memory_start) -
	       ((*x)->memory_start < (*y)->memory_start);
}

const char *const legacy_pseudo_names[LEGACY_PSEUDO_COUNT] = { "[truncated]",
							       "[uncertain]" };

size_t
legacy_pseudo_index(const char *name)
{
	size_t i = 0;
	while (i < LEGACY_PSEUDO_COUNT && strcmp(name, legacy_pseudo_names[i]))
		i++;
	return i;
}

/* The function of the frames that stand for callers not found. */
static struct pb_function *
pseudo_function(struct profile *profile, size_t index)
{
	struct pb_profile *pb = profile->pb;
	for (size_t i = 0; i < pb->n_function; i++)
		if (pb->function[i]->id == index + 1)
			return pb->function[i];
	struct pb_function *function = memory_get(sizeof(*function));
	perftools__profiles__function__init(function);
	function->id = index + 1;
	function->name = function->system_name =
		profile_string(profile, legacy_pseudo_names[index]);
	if (!pb->function)
		pb->function =
			memory_get(LEGACY_PSEUDO_COUNT * sizeof(*pb->function));
	return pb->function[pb->n_function++] = function;
}

static void
name_pseudo(struct profile *profile, struct pb_location *location, size_t index)
{
	struct pb_line *line = memory_get(sizeof(*line));
	perftools__profiles__line__init(line);
	line->function_id = pseudo_function(profile, index)->id;
	location->line = memory_get(sizeof(*location->line));
	location->line[location->n_line++] = line;
	location->address = 0;
}

void
legacy_place(struct profile *profile)
{
	struct pb_profile *pb = profile->pb;
	struct pb_mapping **sorted =
		memory_get((pb->n_mapping + 1) * sizeof(struct pb_mapping *));
	if (pb->n_mapping)
		memcpy(sorted, pb->mapping,
		       pb->n_mapping * sizeof(struct pb_mapping *));
	qsort(sorted, pb->n_mapping, sizeof(struct pb_mapping *), by_start);
	for (size_t i = 0; i < pb->n_location; i++) {
		struct pb_location *location = pb->location[i];
		size_t low = 0, high = pb->n_mapping;
		/* The first mapping that starts above the address. */
		while (low < high) {
			size_t middle = (low + high) / 2;
			if (sorted[middle]->memory_start <= location->address)
				low = middle + 1;
			else
				high = middle;
		}
		if (low == 0 ||
		    location->address >= sorted[low - 1]->memory_limit)
			continue;
		location->mapping_id = sorted[low - 1]->id;
		size_t pseudo = legacy_pseudo_index(
			profile_text(profile, sorted[low - 1]->filename));
		if (pseudo < LEGACY_PSEUDO_COUNT)
			name_pseudo(profile, location, pseudo);
	}
	free(sorted);
}
