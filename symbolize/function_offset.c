/* SPDX-License-Identifier: Apache-2.0 */
/* function_offset.c - opens each file once; see function_offset.h. */
#include "function_offset.h"

#include <stdlib.h>

#include "memory.h"
#include "object.h"

struct function_offset {
	const struct profile *profile;
	const struct locate_options *locate;
	/* By the mapping's position; NULL: not opened yet. */
	struct object **objects;
};

struct function_offset *
function_offset_new(const struct profile *profile,
		    const struct locate_options *locate)
{
	struct function_offset *offsets = memory_get(sizeof(*offsets));
	const size_t mappings = profile->pb->n_mapping;
	*offsets = (struct function_offset){
		.profile = profile,
		.locate = locate,
		.objects = memory_get((mappings + 1) * sizeof(struct object *)),
	};
	return offsets;
}

void
function_offset_free(struct function_offset *offsets)
{
	for (size_t i = 0; i < offsets->profile->pb->n_mapping; i++)
		if (offsets->objects[i])
			object_close(offsets->objects[i]);
	free(offsets->objects);
	free(offsets);
}

bool
function_offset_find(struct function_offset *offsets,
		     const struct pb_location *location, uint64_t *offset)
{
	const struct profile *profile = offsets->profile;
	const struct pb_mapping *mapping =
		profile_mapping(profile, location->mapping_id);
	if (!mapping || location->address < mapping->memory_start)
		return false;
	struct object **object = offsets->objects;
	/* Few, and the first as a rule. */
	for (size_t i = 0; profile->pb->mapping[i] != mapping; i++)
		object++;
	if (!*object)
		*object = object_open(offsets->locate,
				      profile_text(profile, mapping->filename),
				      profile_text(profile, mapping->build_id));
	return object_function_offset(*object,
				      location->address -
					      mapping->memory_start +
					      mapping->file_offset,
				      mapping->file_offset, offset);
}
