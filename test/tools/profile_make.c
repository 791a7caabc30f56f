/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_make.c - writes a pprof profile from lines of text: for tests of
 * what reads profiles.
 *
 *	profile_make FILE < TEXT
 *
 *	type inuse_space bytes
 *	default inuse_space
 *	period 524288 space bytes
 *	time 1700000000000000000
 *	comment any text
 *	drop REGEX
 *	keep REGEX
 *	mapping START LIMIT OFFSET FILE BUILDID		(numbers from 1; - for
 *"") function NAME FILE LINE				(numbers from 1) sample
 *64 1,64,1,64 FRAME FRAME...		(mean block size; values)
 *
 * A FRAME is the leaf first: MAPPING:ADDRESS, or fNUMBER:LINE for a location
 * that has its function already. Numbers are decimal, or hexadecimal with 0x.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "profile.h"
#include "table.h"

static struct profile made;
static size_t type_capacity, mapping_capacity, location_capacity,
	sample_capacity, comment_capacity;

static int64_t
string(const char *text)
{
	return profile_string(&made, strcmp(text, "-") ? text : "");
}

static char *
word(void)
{
	char *text = strtok(NULL, " \t\n");
	if (!text) {
		fputs("profile_make: a word is missing\n", stderr);
		exit(2);
	}
	return text;
}

static uint64_t
number(void)
{
	return strtoull(word(), NULL, 0);
}

static struct pb_value_type *
value_type(void)
{
	struct pb_value_type *type = memory_get(sizeof(*type));
	perftools__profiles__value_type__init(type);
	type->type = string(word());
	type->unit = string(word());
	return type;
}

static void
add_mapping(void)
{
	struct pb_mapping *mapping = memory_get(sizeof(*mapping));
	perftools__profiles__mapping__init(mapping);
	mapping->memory_start = number();
	mapping->memory_limit = number();
	mapping->file_offset = number();
	mapping->filename = string(word());
	mapping->build_id = string(word());
	mapping->id = made.pb->n_mapping + 1;
	memory_grow(made.pb->mapping, made.pb->n_mapping, mapping_capacity);
	made.pb->mapping[made.pb->n_mapping++] = mapping;
}

static void
add_function(void)
{
	struct pb_function *function = profile_add_function(&made);
	function->name = function->system_name = string(word());
	function->filename = string(word());
	function->start_line = (int64_t)number();
}

/* Equal frames share one location. */
static uint64_t
location(const char *frame)
{
	uint64_t id = made.pb->n_location + 1;
	if (!table_add(made.locations, frame, strlen(frame), &id))
		return id;
	struct pb_location *location = memory_get(sizeof(*location));
	char *rest;
	perftools__profiles__location__init(location);
	location->id = id;
	if (*frame == 'f') {
		struct pb_line *line = memory_get(sizeof(*line));
		perftools__profiles__line__init(line);
		line->function_id = strtoull(frame + 1, &rest, 0);
		line->line = strtoll(rest + 1, NULL, 0);
		location->line = memory_get(sizeof(line));
		location->line[0] = line;
		location->n_line = 1;
		/* A place in the main program, with no address. */
		if (made.pb->n_mapping) {
			location->mapping_id = 1;
			made.pb->mapping[0]->has_functions = true;
		}
	} else {
		location->mapping_id = strtoull(frame, &rest, 0);
		location->address = strtoull(rest + 1, NULL, 0);
	}
	memory_grow(made.pb->location, made.pb->n_location, location_capacity);
	made.pb->location[made.pb->n_location++] = location;
	return id;
}

static void
add_sample(void)
{
	struct pb_sample *sample = memory_get(sizeof(*sample));
	struct pb_label *label = memory_get(sizeof(*label));
	size_t capacity = 0;
	char *frame;
	perftools__profiles__sample__init(sample);
	perftools__profiles__label__init(label);
	label->key = string("bytes");
	label->num = (int64_t)number();
	label->num_unit = string("bytes");
	sample->label = memory_get(sizeof(label));
	sample->label[sample->n_label++] = label;
	char *values = word();
	sample->value = memory_get(made.pb->n_sample_type * sizeof(int64_t));
	for (size_t i = 0; i < made.pb->n_sample_type; i++, values++)
		sample->value[sample->n_value++] = strtoll(values, &values, 0);
	while ((frame = strtok(NULL, " \t\n"))) {
		memory_grow(sample->location_id, sample->n_location_id,
			    capacity);
		sample->location_id[sample->n_location_id++] = location(frame);
	}
	memory_grow(made.pb->sample, made.pb->n_sample, sample_capacity);
	made.pb->sample[made.pb->n_sample++] = sample;
}

static void
add_line(char *line)
{
	struct pb_profile *pb = made.pb;
	const char *what = strtok(line, " \t\n");
	if (!what || *what == '#')
		return;
	if (!strcmp(what, "type")) {
		memory_grow(pb->sample_type, pb->n_sample_type, type_capacity);
		pb->sample_type[pb->n_sample_type++] = value_type();
	} else if (!strcmp(what, "default")) {
		pb->default_sample_type = string(word());
	} else if (!strcmp(what, "period")) {
		pb->period = (int64_t)number();
		pb->period_type = value_type();
	} else if (!strcmp(what, "drop")) {
		pb->drop_frames = string(word());
	} else if (!strcmp(what, "keep")) {
		pb->keep_frames = string(word());
	} else if (!strcmp(what, "time")) {
		pb->time_nanos = (int64_t)number();
	} else if (!strcmp(what, "comment")) {
		memory_grow(pb->comment, pb->n_comment, comment_capacity);
		pb->comment[pb->n_comment++] = string(strtok(NULL, "\n"));
	} else if (!strcmp(what, "mapping")) {
		add_mapping();
	} else if (!strcmp(what, "function")) {
		add_function();
	} else if (!strcmp(what, "sample")) {
		add_sample();
	} else {
		fprintf(stderr, "profile_make: what is '%s'?\n", what);
		exit(2);
	}
}

int
main(int argc, char **argv)
{
	struct reason reason;
	char *line = NULL;
	size_t bytes = 0;
	if (argc != 2) {
		fputs("usage: profile_make FILE < TEXT\n", stderr);
		return 2;
	}
	made.pb = memory_get(sizeof(*made.pb));
	perftools__profiles__profile__init(made.pb);
	made.mappings = table_new();
	made.locations = table_new();
	made.functions = table_new();
	string("");
	while (getline(&line, &bytes, stdin) > 0)
		add_line(line);
	free(line);
	if (profile_write(&made, argv[1], &reason)) {
		fprintf(stderr, "profile_make: %s: %s\n", argv[1], reason.text);
		return 1;
	}
	return 0;
}
