/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_offset.c - how far into its function a location of a profile is.
 */
#include "function_offset.h"

#include <stdlib.h>

#include "lookup.h"
#include "memory.h"

struct function_offset {
	const struct profile *profile;
	uint64_t *offsets; /* by the location's position, plus 1; 0: unknown */
	size_t *asked;	   /* the location's position, by question */
};

struct place {
	size_t location;
	struct lookup_question question;
};

static int
compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->question.file != y->question.file)
		return x->question.file < y->question.file ? -1 : 1;
	return x->location < y->location ? -1 : x->location > y->location;
}

/* The locations with names, those of one mapping together. */
static size_t
find_places(const struct profile *profile, struct place *places)
{
	size_t found = 0;
	for (size_t i = 0; i < profile->pb->n_location; i++) {
		const struct pb_location *location = profile->pb->location[i];
		const struct pb_mapping *mapping =
			profile_mapping(profile, location->mapping_id);
		if (!mapping || !location->n_line ||
		    location->address < mapping->memory_start)
			continue;
		places[found++] = (struct place){
			.location = i,
			.question = {
				.file = profile_mapping_index(profile,
							      mapping->id),
				.file_offset = location->address -
					       mapping->memory_start +
					       mapping->file_offset,
				.mapping_offset = mapping->file_offset,
			},
		};
	}
	qsort(places, found, sizeof(*places), compare);
	return found;
}

static void
take_offset(void *data, size_t question, const struct lookup_answer *answer)
{
	struct function_offset *offsets = data;
	if (answer->has_offset)
		offsets->offsets[offsets->asked[question]] =
			answer->into_symbol + 1;
}

static size_t
ask(struct function_offset *offsets, const struct locate_options *locate,
    const struct place *places, size_t count)
{
	const struct profile *profile = offsets->profile;
	const struct pb_profile *pb = profile->pb;
	struct lookup_file *files =
		memory_get(pb->n_mapping * sizeof(struct lookup_file));
	struct lookup_question *questions =
		memory_get(count * sizeof(*questions));
	for (size_t i = 0; i < pb->n_mapping; i++)
		files[i] = (struct lookup_file){
			profile_text(profile, pb->mapping[i]->filename),
			profile_text(profile, pb->mapping[i]->build_id),
		};
	offsets->asked = memory_get(count * sizeof(size_t));
	for (size_t i = 0; i < count; i++) {
		offsets->asked[i] = places[i].location;
		questions[i] = places[i].question;
	}
	struct lookup lookup = {
		.locate = locate,
		.only_offsets = true,
		.quiet = true,
		.files = files,
		.questions = questions,
		.question_count = count,
		.answer = take_offset,
		.data = offsets,
	};
	lookup_run(&lookup);
	free(files);
	free(questions);
	free(offsets->asked);
	return lookup.lost_count;
}

struct function_offset *
function_offset_new(const struct profile *profile,
		    const struct locate_options *locate, size_t *lost)
{
	struct function_offset *offsets = memory_get(sizeof(*offsets));
	const size_t locations = profile->pb->n_location;
	struct place *places = memory_get(locations * sizeof(*places));
	offsets->profile = profile;
	offsets->offsets = memory_get(locations * sizeof(uint64_t));
	*lost = ask(offsets, locate, places, find_places(profile, places));
	free(places);
	return offsets;
}

void
function_offset_free(struct function_offset *offsets)
{
	free(offsets->offsets);
	free(offsets);
}

bool
function_offset_find(const struct function_offset *offsets,
		     const struct pb_location *location, uint64_t *offset)
{
	uint64_t found =
		offsets->offsets[profile_location_index(offsets->profile,
							location->id)];
	*offset = found - 1;
	return found;
}
