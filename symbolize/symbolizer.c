/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolizer.c - puts names, files and lines into a profile.
 *
 * A location's file is that of its mapping_id, never the one whose range its
 * address happens to be in. Mappings of the same file and build-id are one
 * file to look up; functions that are equal in name, file and line are one
 * function.
 */
#include "symbolizer.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "lookup.h"
#include "memory.h"
#include "perf_map.h"
#include "table.h"

struct symbolizer {
	struct profile *profile;
	const struct symbolizer_options *options;
	struct symbolizer_counts *counts;
	struct table *file_numbers; /* name NUL build-id → files[] */
	struct lookup_file *files;
	size_t file_count, file_capacity;
	struct place *places;	 /* by question */
	struct table *functions; /* struct function_key → function id */
	struct perf_map *perf_map;
	bool perf_map_tried;
};

struct function_key {
	int64_t name;
	int64_t system_name;
	int64_t filename;
	int64_t start_line;
};

/* A location that is in a file. */
struct place {
	struct pb_location *location;
	struct lookup_question question;
};

static size_t
file_of(struct symbolizer *symbolizer, const struct pb_mapping *mapping)
{
	const char *name = profile_text(symbolizer->profile, mapping->filename);
	const char *build_id =
		profile_text(symbolizer->profile, mapping->build_id);
	uint64_t number = symbolizer->file_count;
	size_t name_bytes = strlen(name) + 1;
	char *key = memory_format("%s %s", name, build_id);
	size_t key_bytes = strlen(key);
	/* No name holds a NUL: no two pairs make the same key. */
	key[name_bytes - 1] = '\0';
	bool new = table_add(symbolizer->file_numbers, key, key_bytes, &number);
	free(key);
	if (!new)
		return number;
	memory_grow(symbolizer->files, symbolizer->file_count,
		    symbolizer->file_capacity);
	symbolizer->files[symbolizer->file_count++] =
		(struct lookup_file){ .name = name, .build_id = build_id };
	return number;
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

/* Nobody: of what came through a pipe. */
static uid_t
owner_of(const char *path)
{
	struct stat status;
	return !strcmp(path, "-") || stat(path, &status) ? (uid_t)-1
							 : status.st_uid;
}

/* The map that was named is used, or its refusal said; the usual one, if it
 * is there. */
static void
open_perf_map(struct symbolizer *symbolizer)
{
	const char *path = symbolizer->options->perf_map;
	const char *profile = symbolizer->profile->path;
	long pid = pid_of_path(profile);
	char *usual = memory_format("/tmp/perf-%ld.map", pid);
	struct reason reason = { "" };
	if (path)
		symbolizer->perf_map = perf_map_open(path, &reason);
	else if (pid)
		symbolizer->perf_map =
			perf_map_open_usual(usual, owner_of(profile), &reason);
	if (*reason.text && !symbolizer->perf_map) {
		symbolizer->counts->lost += path != NULL;
		if (!symbolizer->options->quiet)
			command_fail("%s: not used: %s", path ? path : usual,
				     reason.text);
	}
	free(usual);
}

static const char *
find_jit(struct symbolizer *symbolizer, uint64_t address)
{
	if (!symbolizer->perf_map_tried)
		open_perf_map(symbolizer);
	symbolizer->perf_map_tried = true;
	return symbolizer->perf_map
		       ? perf_map_find(symbolizer->perf_map, address)
		       : NULL;
}

/* The same functions of several files, or of several readers, are one. */
static uint64_t
function_of(struct symbolizer *symbolizer, struct lookup_function *from)
{
	struct profile *profile = symbolizer->profile;
	const char *name = from->name ? from->name : "??";
	const char *raw = from->system_name ? from->system_name : name;
	if (from->note)
		return from->note;
	struct function_key key = {
		.name = profile_string(profile, name),
		.system_name = profile_string(profile, raw),
		.filename =
			from->file ? profile_string(profile, from->file) : 0,
		.start_line = from->start_line,
	};
	uint64_t id;
	if (!table_find(symbolizer->functions, &key, sizeof(key), &id)) {
		struct pb_function *function = profile_add_function(profile);
		function->name = key.name;
		function->system_name = key.system_name;
		function->filename = key.filename;
		function->start_line = key.start_line;
		id = function->id;
		table_add(symbolizer->functions, &key, sizeof(key), &id);
	}
	from->note = id;
	return id;
}

static void
set_lines(struct symbolizer *symbolizer, struct pb_location *location,
	  struct pb_mapping *mapping, const struct lookup_frame *frames,
	  size_t count)
{
	location->line = memory_get(count * sizeof(*location->line));
	location->n_line = count;
	for (size_t i = 0; i < count; i++) {
		struct pb_line *line = memory_get(sizeof(*line));
		perftools__profiles__line__init(line);
		const struct lookup_function *function = frames[i].function;
		line->function_id = function_of(symbolizer, frames[i].function);
		line->line = frames[i].line;
		location->line[i] = line;
		if (!mapping)
			continue;
		mapping->has_functions |= function->name != NULL;
		mapping->has_filenames |= function->file != NULL;
		mapping->has_line_numbers |= frames[i].line != 0;
	}
}

/* An answer of lookup_run(). */
static void
take_answer(void *data, size_t question, const struct lookup_answer *answer)
{
	struct symbolizer *symbolizer = data;
	struct pb_location *location = symbolizer->places[question].location;
	struct pb_mapping *mapping =
		profile_mapping(symbolizer->profile, location->mapping_id);
	if (answer->has_lines && !symbolizer->options->no_inlines)
		mapping->has_inline_frames = true;
	if (answer->count)
		set_lines(symbolizer, location, mapping, answer->frames,
			  answer->count);
}

static int
compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->question.file != y->question.file)
		return x->question.file < y->question.file ? -1 : 1;
	return x->location->id < y->location->id
		       ? -1
		       : x->location->id > y->location->id;
}

/* The locations that are in a file, those of one file together. */
static size_t
find_places(struct symbolizer *symbolizer, struct pb_location **bare,
	    size_t count)
{
	size_t found = 0;
	symbolizer->places = memory_get(count * sizeof(struct place));
	for (size_t i = 0; i < count; i++) {
		const struct pb_mapping *mapping =
			profile_mapping(symbolizer->profile,
					bare[i]->mapping_id);
		if (!mapping || bare[i]->address < mapping->memory_start)
			continue;
		uint64_t offset = bare[i]->address - mapping->memory_start +
				  mapping->file_offset;
		symbolizer->places[found++] = (struct place){
			.location = bare[i],
			.question = { .file = file_of(symbolizer, mapping),
				      .file_offset = offset,
				      .mapping_offset = mapping->file_offset },
		};
	}
	qsort(symbolizer->places, found, sizeof(struct place), compare_places);
	return found;
}

static void
ask(struct symbolizer *symbolizer, struct pb_location **bare, size_t count)
{
	symbolizer->file_numbers = table_new();
	size_t found = find_places(symbolizer, bare, count);
	struct lookup_question *questions =
		memory_get(found * sizeof(*questions));
	for (size_t i = 0; i < found; i++)
		questions[i] = symbolizer->places[i].question;
	struct lookup lookup = {
		.locate = &symbolizer->options->locate,
		.only_outermost = symbolizer->options->no_inlines,
		.quiet = symbolizer->options->quiet,
		.files = symbolizer->files,
		.questions = questions,
		.question_count = found,
		.answer = take_answer,
		.data = symbolizer,
	};
	lookup_run(&lookup);
	symbolizer->counts->refused = lookup.refused_count;
	symbolizer->counts->lost = lookup.lost_count + lookup.damaged_count;
	table_free(symbolizer->file_numbers);
	free(symbolizer->files);
	free(symbolizer->places);
	free(questions);
}

/* What no file had a name for. */
static void
ask_jit(struct symbolizer *symbolizer, struct pb_location *location)
{
	struct lookup_function function = {
		.name = find_jit(symbolizer, location->address),
	};
	const struct lookup_frame frame = { .function = &function };
	if (function.name)
		set_lines(symbolizer, location,
			  profile_mapping(symbolizer->profile,
					  location->mapping_id),
			  &frame, 1);
	else
		symbolizer->counts->unresolved++;
}

/* The locations without names. */
static struct pb_location **
bare_locations(const struct profile *profile, size_t *count)
{
	const struct pb_profile *pb = profile->pb;
	struct pb_location **bare =
		memory_get(pb->n_location * sizeof(struct pb_location *));
	for (size_t i = 0; i < pb->n_location; i++)
		if (!pb->location[i]->n_line)
			bare[(*count)++] = pb->location[i];
	return bare;
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
		.functions = table_new(),
	};
	*counts = (struct symbolizer_counts){ .locations = 0 };
	struct pb_location **bare = bare_locations(profile, &counts->locations);
	ask(&symbolizer, bare, counts->locations);
	for (size_t i = 0; i < counts->locations; i++)
		if (!bare[i]->n_line)
			ask_jit(&symbolizer, bare[i]);
	free(bare);
	perf_map_close(symbolizer.perf_map);
	table_free(symbolizer.functions);
}

bool
symbolizer_needed(const struct profile *profile)
{
	for (size_t i = 0; i < profile->pb->n_location; i++)
		if (!profile->pb->location[i]->n_line)
			return true;
	return false;
}
