/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.c - a profile as the views see it: stacks of names, with values.
 */
#include "samples.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "dropped.h"
#include "estimate.h"
#include "memory.h"
#include "short_name.h"
#include "table.h"

/* What a location stands for, found once. */
struct place {
	uint32_t *frames;
	size_t count;
	size_t dropped; /* so many of the innermost are dropped */
	bool focused;
	bool ignored;
};

struct maker {
	struct samples *samples;
	const struct samples_filter *filter;
	const struct dropped *dropped;
	struct place *places;
};

static uint32_t
number_of(struct samples *samples, const char *name)
{
	uint64_t number = samples->name_count;
	if (table_add(samples->numbers, name, strlen(name), &number)) {
		memory_grow(samples->names, samples->name_count,
			    samples->name_capacity);
		samples->names[samples->name_count++] = memory_string(name);
	}
	return (uint32_t)number;
}

static bool
matches(struct pattern *pattern, const char *text)
{
	return pattern && pattern_matches(pattern, text);
}

/*
 * A name with <, and mangled by C++'s rules: Rust's <T as U> stays. Or as DWARF
 * has it where there is no mangled one: "NAME<ARGUMENTS>".
 */
static bool
is_long_cxx(const struct profile *profile, const struct pb_function *function)
{
	const char *system = profile_text(profile, function->system_name);
	size_t bytes = strlen(system), name_bytes = strcspn(system, " :.<");
	if (!strncmp(system, "_Z", 2))
		return !strstr(system, "17h");
	return name_bytes && system[name_bytes] == '<' &&
	       system[bytes - 1] == '>';
}

static void
add_line(struct maker *maker, struct place *place,
	 const struct pb_function *function)
{
	const struct profile *profile = maker->samples->profile;
	const char *name = profile_text(profile, function->name);
	const char *file = profile_text(profile, function->filename);
	if (!*name)
		name = profile_text(profile, function->system_name);
	if (!*name)
		name = "??";
	/* Others write the raw name in both fields. */
	char *clear = demangle(name);
	char *shorter = NULL;
	if (!maker->filter->full_names && is_long_cxx(profile, function))
		shorter = short_name(clear);
	const char *shown = shorter ? shorter : clear;
	place->frames[place->count++] = number_of(maker->samples, shown);
	if (dropped_function(maker->dropped, clear))
		place->dropped = place->count;
	/* As go tool pprof: a source file's name matches, too. */
	place->focused = place->focused ||
			 matches(maker->filter->focus, clear) ||
			 matches(maker->filter->focus, file);
	place->ignored = place->ignored ||
			 matches(maker->filter->ignore, clear) ||
			 matches(maker->filter->ignore, file);
	free(shorter);
	free(clear);
}

static void
add_unnamed(struct maker *maker, struct place *place,
	    const struct pb_location *location)
{
	const struct profile *profile = maker->samples->profile;
	const struct pb_mapping *mapping =
		profile_mapping(profile, location->mapping_id);
	const char *file =
		mapping ? profile_text(profile, mapping->filename) : "";
	const char *slash = strrchr(file, '/');
	char *name;
	/* An address of anonymous memory is the same in no other place. */
	if (!*file || *file == '[')
		name = memory_format("0x%" PRIx64 "%s%s", location->address,
				     *file ? " " : "", file);
	else
		name = memory_format("%s+0x%" PRIx64, slash ? slash + 1 : file,
				     location->address - mapping->memory_start +
					     mapping->file_offset);
	place->frames[place->count++] = number_of(maker->samples, name);
	place->focused = matches(maker->filter->focus, name);
	place->ignored = matches(maker->filter->ignore, name);
	free(name);
}

static const struct place *
place_of(struct maker *maker, uint64_t location_id)
{
	const struct profile *profile = maker->samples->profile;
	size_t index = profile_location_index(profile, location_id);
	struct place *place = &maker->places[index];
	const struct pb_location *location = profile->pb->location[index];
	if (place->frames)
		return place;
	place->frames =
		memory_get((location->n_line + 1) * sizeof(*place->frames));
	for (size_t i = 0; i < location->n_line; i++)
		add_line(maker, place,
			 profile_function(profile,
					  location->line[i]->function_id));
	if (!location->n_line)
		add_unnamed(maker, place, location);
	return place;
}

/*
 * The first location of a sample's stack that is shown: what a dropped function
 * called goes with it, unless no function that called it would be left.
 */
static size_t
first_shown(struct maker *maker, const struct pb_sample *sample)
{
	bool caller = false;
	for (size_t i = sample->n_location_id; i-- > 0;) {
		const struct place *place =
			place_of(maker, sample->location_id[i]);
		if (caller && place->dropped)
			return place->dropped == place->count ? i + 1 : i;
		caller = caller || !place->dropped;
	}
	return 0;
}

/* The stack of a sample, unless a filter leaves it out. */
static bool
make_stack(struct maker *maker, const struct pb_sample *sample,
	   struct sample_row *row)
{
	bool focused = false, ignored = false;
	uint32_t *frames = NULL;
	size_t count = 0, capacity = 0;
	for (size_t i = first_shown(maker, sample); i < sample->n_location_id;
	     i++) {
		const struct place *place =
			place_of(maker, sample->location_id[i]);
		/* Of a location that is dropped altogether, all is left. */
		size_t first =
			place->dropped < place->count ? place->dropped : 0;
		focused = focused || place->focused;
		ignored = ignored || place->ignored;
		for (size_t j = first; j < place->count; j++) {
			memory_grow(frames, count, capacity);
			frames[count++] = place->frames[j];
		}
	}
	row->frames = frames;
	row->frame_count = count;
	if ((!maker->filter->focus || focused) && !ignored)
		return true;
	free(frames);
	return false;
}

static void
add_sample(struct maker *maker, const struct pb_sample *sample)
{
	struct samples *samples = maker->samples;
	struct sample_row row = { .frames = NULL };
	row.values = memory_get(2 * samples->type_count * sizeof(double));
	row.variances = row.values + samples->type_count;
	for (size_t i = 0; i < samples->type_count; i++) {
		row.values[i] = (double)sample->value[i];
		row.variances[i] = estimate_sample_variance(samples->profile,
							    sample, (int)i);
		samples->totals[i] += row.values[i];
		samples->total_variances[i] += row.variances[i];
	}
	if (!make_stack(maker, sample, &row)) {
		free(row.values);
		return;
	}
	memory_grow(samples->rows, samples->row_count, samples->row_capacity);
	samples->rows[samples->row_count++] = row;
}

struct samples *
samples_make(const struct profile *profile, const struct samples_filter *filter,
	     const struct samples *names_of)
{
	struct samples *samples = memory_get(sizeof(*samples));
	const struct pb_profile *pb = profile->pb;
	samples->profile = profile;
	samples->numbers = table_new();
	samples->type_count = pb->n_sample_type;
	samples->totals = memory_get(pb->n_sample_type * sizeof(double));
	samples->total_variances =
		memory_get(pb->n_sample_type * sizeof(double));
	for (size_t i = 0; names_of && i < names_of->name_count; i++)
		number_of(samples, names_of->names[i]);
	struct dropped *dropped = dropped_open(profile);
	struct maker maker = { .samples = samples,
			       .filter = filter,
			       .dropped = dropped };
	maker.places = memory_get(pb->n_location * sizeof(*maker.places));
	for (size_t i = 0; i < pb->n_sample; i++)
		add_sample(&maker, pb->sample[i]);
	for (size_t i = 0; i < pb->n_location; i++)
		free(maker.places[i].frames);
	free(maker.places);
	dropped_close(dropped);
	return samples;
}

void
samples_free(struct samples *samples)
{
	if (!samples)
		return;
	for (size_t i = 0; i < samples->row_count; i++) {
		free((void *)(uintptr_t)samples->rows[i].frames);
		free(samples->rows[i].values);
	}
	for (size_t i = 0; i < samples->name_count; i++)
		free(samples->names[i]);
	table_free(samples->numbers);
	free(samples->names);
	free(samples->rows);
	free(samples->totals);
	free(samples->total_variances);
	free(samples);
}
