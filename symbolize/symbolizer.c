/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolizer.c - puts names, files and lines into a profile.
 *
 * A location's file is that of its mapping_id, never the one whose range its
 * address happens to be in. Mappings of the same file and build-id share one
 * object; functions that are equal in name, file and line are one function.
 *
 * Places are looked up file by file, and in a file in the order that it asks
 * for: one file is open at a time, and of its debug information one unit.
 */
#include "symbolizer.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "memory.h"
#include "object.h"
#include "perf_map.h"
#include "table.h"

struct symbolizer {
	struct profile *profile;
	const struct symbolizer_options *options;
	struct symbolizer_counts *counts;
	struct table *objects;	 /* name NUL build-id → number */
	struct table *functions; /* struct function_key → function id */
	struct table *names; /* raw name → string index of the clear one */
	struct perf_map *perf_map;
	bool perf_map_tried;
};

struct function_key {
	int64_t name;
	int64_t system_name;
	int64_t filename;
	int64_t start_line;
};

/* A location without names, and where to look. */
struct place {
	struct pb_location *location;
	struct pb_mapping *mapping; /* NULL: none holds it */
	uint64_t object;	    /* number of its file, or NO_OBJECT */
	size_t order;		    /* in the file: object_order() */
};
#define NO_OBJECT UINT64_MAX

static uint64_t
object_number(struct symbolizer *symbolizer, const struct pb_mapping *mapping)
{
	const char *name = profile_text(symbolizer->profile, mapping->filename);
	const char *build_id =
		profile_text(symbolizer->profile, mapping->build_id);
	uint64_t number = table_count(symbolizer->objects);
	size_t name_bytes = strlen(name) + 1;
	char *key = memory_format("%s %s", name, build_id);
	size_t key_bytes = strlen(key);
	/* No name holds a NUL: no two pairs make the same key. */
	key[name_bytes - 1] = '\0';
	table_add(symbolizer->objects, key, key_bytes, &number);
	free(key);
	return number;
}

static struct object *
open_object(struct symbolizer *symbolizer, const struct pb_mapping *mapping)
{
	const char *name = profile_text(symbolizer->profile, mapping->filename);
	const char *build_id =
		profile_text(symbolizer->profile, mapping->build_id);
	struct object *object =
		object_open(&symbolizer->options->locate, name, build_id);
	if (object_refused(object)) {
		symbolizer->counts->refused++;
		if (!symbolizer->options->quiet)
			fprintf(stderr,
				"heapagent: %s: not used: it is not the file "
				"of the profile, whose build-id is %s\n",
				object_refused(object), build_id);
	}
	return object;
}

/* EXE.PID.SEQ.KIND.pb.gz: the second field; EXE itself may have dots. */
static long
pid_of_path(const char *path)
{
	const char *name = strrchr(path, '/');
	name = name ? name + 1 : path;
	long found = 0;
	for (const char *dot = strchr(name, '.'); dot;
	     dot = strchr(dot + 1, '.')) {
		char *end;
		if (!isdigit((unsigned char)dot[1]))
			continue;
		long pid = strtol(dot + 1, &end, 10);
		/* What follows the process is the number of the dump. */
		if (*end == '.' && isdigit((unsigned char)end[1]))
			found = pid;
	}
	return found;
}

static const char *
find_jit(struct symbolizer *symbolizer, uint64_t address)
{
	const char *path = symbolizer->options->perf_map;
	if (!symbolizer->perf_map_tried) {
		long pid = pid_of_path(symbolizer->profile->path);
		char *usual = memory_format("/tmp/perf-%ld.map", pid);
		symbolizer->perf_map_tried = true;
		if (path || pid)
			symbolizer->perf_map =
				perf_map_open(path ? path : usual);
		free(usual);
	}
	return symbolizer->perf_map
		       ? perf_map_find(symbolizer->perf_map, address)
		       : NULL;
}

static int64_t
clear_name(struct symbolizer *symbolizer, const char *raw)
{
	uint64_t index;
	size_t bytes = strlen(raw);
	if (table_find(symbolizer->names, raw, bytes, &index))
		return (int64_t)index;
	char *clear = demangle(raw);
	index = (uint64_t)profile_string(symbolizer->profile, clear);
	free(clear);
	table_add(symbolizer->names, raw, bytes, &index);
	return (int64_t)index;
}

static uint64_t
function_of(struct symbolizer *symbolizer, const struct inline_frame *frame)
{
	struct profile *profile = symbolizer->profile;
	const char *raw = frame->name ? frame->name : "??";
	struct function_key key = {
		.name = clear_name(symbolizer, raw),
		.system_name = profile_string(profile, raw),
		.filename =
			frame->file ? profile_string(profile, frame->file) : 0,
	};
	/* start_line is a line of filename, which is where the line is. */
	if (frame->file && frame->function_file &&
	    !strcmp(frame->file, frame->function_file))
		key.start_line = frame->function_line;
	uint64_t id;
	if (table_find(symbolizer->functions, &key, sizeof(key), &id))
		return id;
	struct pb_function *function = profile_add_function(profile);
	function->name = key.name;
	function->system_name = key.system_name;
	function->filename = key.filename;
	function->start_line = key.start_line;
	id = function->id;
	table_add(symbolizer->functions, &key, sizeof(key), &id);
	return id;
}

static void
set_lines(struct symbolizer *symbolizer, struct pb_location *location,
	  struct pb_mapping *mapping, const struct inline_frame *frames,
	  size_t count)
{
	location->line = memory_get(count * sizeof(*location->line));
	location->n_line = count;
	for (size_t i = 0; i < count; i++) {
		struct pb_line *line = memory_get(sizeof(*line));
		perftools__profiles__line__init(line);
		line->function_id = function_of(symbolizer, &frames[i]);
		line->line = frames[i].line;
		location->line[i] = line;
		if (!mapping)
			continue;
		mapping->has_functions |= frames[i].name != NULL;
		mapping->has_filenames |= frames[i].file != NULL;
		mapping->has_line_numbers |= frames[i].line != 0;
	}
}

static uint64_t
offset_of(const struct place *place)
{
	return place->location->address - place->mapping->memory_start +
	       place->mapping->file_offset;
}

/* object: the place's file, NULL if it has none. */
static void
resolve(struct symbolizer *symbolizer, const struct place *place,
	struct object *object)
{
	struct inline_frame frames[INLINES_MAX];
	struct pb_mapping *mapping = place->mapping;
	bool no_inlines = symbolizer->options->no_inlines;
	size_t count = 0;
	if (object) {
		count = object_find(object, offset_of(place),
				    mapping->file_offset, no_inlines, frames);
		if (object_has_lines(object) && !no_inlines)
			mapping->has_inline_frames = true;
	}
	if (!count) {
		const char *name =
			find_jit(symbolizer, place->location->address);
		frames[0] = (struct inline_frame){ .name = name };
		count = name != NULL;
	}
	if (count)
		set_lines(symbolizer, place->location, mapping, frames, count);
	else
		symbolizer->counts->unresolved++;
}

static int
compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int
compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = compare_numbers(x->object, y->object);
	if (!order)
		order = compare_numbers(x->order, y->order);
	if (!order)
		order = compare_numbers(x->location->address,
					y->location->address);
	return order ? order
		     : compare_numbers(x->location->id, y->location->id);
}

/* The locations without names, those of one file together. */
static struct place *
bare_places(struct symbolizer *symbolizer, size_t *count)
{
	const struct pb_profile *pb = symbolizer->profile->pb;
	struct place *places = memory_get(pb->n_location * sizeof(*places));
	for (size_t i = 0; i < pb->n_location; i++) {
		struct pb_location *location = pb->location[i];
		struct pb_mapping *mapping =
			profile_mapping(symbolizer->profile,
					location->mapping_id);
		if (location->n_line)
			continue;
		struct place *place = &places[(*count)++];
		*place = (struct place){ location, mapping, NO_OBJECT, 0 };
		if (mapping && location->address >= mapping->memory_start)
			place->object = object_number(symbolizer, mapping);
	}
	if (*count)
		qsort(places, *count, sizeof(*places), compare_places);
	return places;
}

/* Those of one file, which is open no longer than that. */
static void
resolve_all(struct symbolizer *symbolizer, struct place *places, size_t count)
{
	struct object *object = NULL;
	if (places->object != NO_OBJECT)
		object = open_object(symbolizer, places->mapping);
	for (size_t i = 0; object && i < count; i++)
		places[i].order = object_order(object, offset_of(&places[i]),
					       places[i].mapping->file_offset);
	qsort(places, count, sizeof(*places), compare_places);
	for (size_t i = 0; i < count; i++)
		resolve(symbolizer, &places[i], object);
	object_close(object);
}

void
symbolizer_run(struct profile *profile,
	       const struct symbolizer_options *options,
	       struct symbolizer_counts *counts)
{
	struct symbolizer symbolizer = {
		.profile = profile,
		.options = options,
		.counts = counts,
		.objects = table_new(),
		.functions = table_new(),
		.names = table_new(),
	};
	*counts = (struct symbolizer_counts){ .locations = 0 };
	struct place *places = bare_places(&symbolizer, &counts->locations);
	size_t next;
	for (size_t i = 0; i < counts->locations; i = next) {
		next = i + 1;
		while (next < counts->locations &&
		       places[next].object == places[i].object)
			next++;
		resolve_all(&symbolizer, &places[i], next - i);
	}
	free(places);
	perf_map_close(symbolizer.perf_map);
	table_free(symbolizer.objects);
	table_free(symbolizer.functions);
	table_free(symbolizer.names);
}

bool
symbolizer_needed(const struct profile *profile)
{
	for (size_t i = 0; i < profile->pb->n_location; i++)
		if (!profile->pb->location[i]->n_line)
			return true;
	return false;
}
