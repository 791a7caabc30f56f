/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_text.c - `heapagent text`: a whole profile as text, with names.
 *
 * In the form of Go's runtime/pprof with debug=1, which other readers of
 * pprof's older texts know, too:
 *
 *	heap profile: OBJECTS: BYTES [OBJECTS: BYTES] @ heapprofile
 *	OBJECTS: BYTES [OBJECTS: BYTES] @ 0xADDRESS...
 *	#	0xADDRESS	FUNCTION+0xOFFSET	FILE:LINE
 *
 * in use, and in brackets allocated. What was sampled is an estimate here, so
 * the type is that of a profile that is not sampled. A threads profile is
 * printed as with debug=2, for people (thread_text.h).
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "estimate.h"
#include "function_offset.h"
#include "legacy_place.h"
#include "memory.h"
#include "missing.h"
#include "thread_text.h"
#include "view.h"

struct text {
	const struct profile *profile;
	/* Sample types: in use, allocated; objects, bytes. -1: none. */
	int columns[4];
	bool is_heap;
	int type; /* of the order, and what else than a heap shows */
	struct function_offset *offsets;
};

static const char *
text_of(const struct text *text, int64_t string)
{
	return profile_text(text->profile, string);
}

static void
choose_columns(struct text *text)
{
	static const char *const names[4][2] = {
		{ "inuse_objects", "objects" },
		{ "inuse_space", "space" },
		{ "alloc_objects", "objects" },
		{ "alloc_space", "space" },
	};
	text->is_heap = false;
	for (int i = 0; i < 4; i++) {
		int type = profile_sample_type(text->profile, names[i][0]);
		if (type < 0)
			type = profile_sample_type(text->profile, names[i][1]);
		text->columns[i] = type;
		text->is_heap = text->is_heap || type >= 0;
	}
	text->type = profile_default_type(text->profile);
}

static int64_t
value_of(const struct pb_sample *sample, int type)
{
	return type < 0 ? 0 : sample->value[type];
}

static void
print_figures(const int64_t values[4])
{
	printf("%" PRId64 ": %" PRId64 " [%" PRId64 ": %" PRId64 "] @",
	       values[0], values[1], values[2], values[3]);
}

static void
print_head(const struct text *text)
{
	const struct pb_profile *pb = text->profile->pb;
	int64_t sums[4] = { 0 }, sum = 0;
	for (size_t i = 0; i < pb->n_sample; i++) {
		/* Modulo 2^64, whatever the file says. */
		for (int k = 0; k < 4; k++)
			sums[k] =
				(int64_t)((uint64_t)sums[k] +
					  (uint64_t)value_of(pb->sample[i],
							     text->columns[k]));
		sum = (int64_t)((uint64_t)sum +
				(uint64_t)pb->sample[i]->value[text->type]);
	}
	if (!text->is_heap) {
		printf("%s profile: total %" PRId64 "\n",
		       text_of(text, pb->sample_type[text->type]->type), sum);
		return;
	}
	/* Else Go's reader takes the four columns for two. */
	if (sums[1] == sums[3])
		sums[3] = (int64_t)((uint64_t)sums[3] + 1);
	fputs("heap profile: ", stdout);
	print_figures(sums);
	puts(" heapprofile");
	if (estimate_is_one(text->profile, text->type))
		printf("# estimates, of a sample each %" PRId64
		       " bytes on average\n",
		       pb->period);
}

/* Of a name without an address; LEGACY_PSEUDO_COUNT: it is some place. */
static size_t
pseudo_index(const struct text *text, const struct pb_location *location)
{
	if (location->address || !location->n_line)
		return LEGACY_PSEUDO_COUNT;
	const struct pb_function *function =
		profile_function(text->profile, location->line[0]->function_id);
	size_t index =
		function ? legacy_pseudo_index(text_of(text, function->name))
			 : 0;
	/* One of another name is no place, either. */
	return index < LEGACY_PSEUDO_COUNT ? index : 0;
}

static void
print_stack(const struct text *text, const struct pb_sample *sample)
{
	for (size_t i = 0; i < sample->n_location_id; i++) {
		const struct pb_location *location =
			profile_location(text->profile, sample->location_id[i]);
		size_t pseudo = pseudo_index(text, location);
		/* To where the call returns, from which readers take one. */
		printf(" 0x%" PRIx64, (pseudo < LEGACY_PSEUDO_COUNT
					       ? LEGACY_PSEUDO_ADDRESS(pseudo)
					       : location->address) +
					      1);
	}
	putchar('\n');
}

/* The offset is that of the function itself, not of one inlined into it. */
static void
print_line(const struct text *text, const struct pb_location *location,
	   const struct pb_line *line)
{
	uint64_t offset;
	const struct pb_function *function =
		profile_function(text->profile, line->function_id);
	const char *name = text_of(text, function->name);
	const char *file = text_of(text, function->filename);
	if (!*name)
		name = text_of(text, function->system_name);
	printf("#\t0x%" PRIx64 "\t%s", location->address, name);
	if (line == location->line[location->n_line - 1] &&
	    function_offset_find(text->offsets, location, &offset))
		printf("+0x%" PRIx64, offset);
	if (*file)
		printf("\t%s:%" PRId64, file, line->line);
	putchar('\n');
}

static void
print_unnamed(const struct text *text, const struct pb_location *location)
{
	const struct pb_mapping *mapping =
		profile_mapping(text->profile, location->mapping_id);
	const char *file = mapping ? text_of(text, mapping->filename) : "";
	const char *slash = strrchr(file, '/');
	printf("#\t0x%" PRIx64, location->address);
	if (*file)
		printf("\t%s+0x%" PRIx64, slash ? slash + 1 : file,
		       location->address - mapping->memory_start +
			       mapping->file_offset);
	putchar('\n');
}

static void
print_frames(const struct text *text, const struct pb_sample *sample)
{
	for (size_t i = 0; i < sample->n_location_id; i++) {
		const struct pb_location *location =
			profile_location(text->profile, sample->location_id[i]);
		/* Innermost first, what it was inlined into after it. */
		for (size_t k = 0; k < location->n_line; k++)
			print_line(text, location, location->line[k]);
		if (!location->n_line)
			print_unnamed(text, location);
	}
}

static void
print_sample(const struct text *text, const struct pb_sample *sample)
{
	int64_t count = sample->value[text->type], values[4];
	if (text->is_heap) {
		for (int i = 0; i < 4; i++)
			values[i] = value_of(sample, text->columns[i]);
		print_figures(values);
	} else {
		printf("\n%" PRId64 " @", count);
	}
	print_stack(text, sample);
	print_frames(text, sample);
}

/* As in /proc/PID/maps. */
static void
print_mapping(uint64_t start, uint64_t limit, uint64_t offset, const char *file)
{
	printf("%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 0 %s\n",
	       start, limit, offset, file);
}

static void
print_mappings(const struct text *text)
{
	const struct pb_profile *pb = text->profile->pb;
	bool met[LEGACY_PSEUDO_COUNT + 1] = { false };
	puts(text->is_heap ? "\nMAPPED_LIBRARIES:" : "\n--- Memory map: ---");
	for (size_t i = 0; i < pb->n_mapping; i++) {
		const struct pb_mapping *mapping = pb->mapping[i];
		const char *file = text_of(text, mapping->filename);
		if (mapping->memory_limit > mapping->memory_start &&
		    legacy_pseudo_index(file) == LEGACY_PSEUDO_COUNT)
			print_mapping(mapping->memory_start,
				      mapping->memory_limit,
				      mapping->file_offset, file);
	}
	for (size_t i = 0; i < pb->n_location; i++)
		met[pseudo_index(text, pb->location[i])] = true;
	for (size_t i = 0; i < LEGACY_PSEUDO_COUNT; i++)
		if (met[i])
			print_mapping(LEGACY_PSEUDO_ADDRESS(i),
				      LEGACY_PSEUDO_ADDRESS(i) +
					      LEGACY_PSEUDO_BYTES,
				      0, legacy_pseudo_names[i]);
}

static bool
ends_with(const char *text, size_t length, const char *end)
{
	size_t end_length = strlen(end);
	return length >= end_length &&
	       !memcmp(text + length - end_length, end, end_length);
}

/* Words of counters, without those that are 0. */
static void
print_counters(const char *comment)
{
	while (*comment) {
		size_t length = strcspn(comment, " ");
		if (!ends_with(comment, length, "=0"))
			printf(" %.*s", (int)length, comment);
		comment += length + strspn(comment + length, " ");
	}
}

static void
print_comment(const char *comment)
{
	/* A counter of the text format. */
	if (ends_with(comment, strlen(comment), " = 0"))
		return;
	putchar('#');
	if (strstr(comment, " samples_dropped_")) {
		print_counters(comment + (*comment == '#'));
	} else {
		comment += 2 * !strncmp(comment, "# ", 2);
		for (putchar(' '); *comment; comment++)
			putchar(*comment == '\n' ? ' ' : *comment);
	}
	putchar('\n');
}

static void
print_comments(const struct text *text)
{
	const struct pb_profile *pb = text->profile->pb;
	char *missing = missing_text(text->profile);
	for (size_t i = 0; i < pb->n_comment; i++)
		print_comment(text_of(text, pb->comment[i]));
	for (char *line = missing; *line; line += strcspn(line, "\n") + 1)
		printf("# %.*s\n", (int)strcspn(line, "\n"), line);
	free(missing);
	if (pb->time_nanos)
		printf("# time_nanos = %" PRId64 "\n", pb->time_nanos);
	if (pb->duration_nanos)
		printf("# duration_nanos = %" PRId64 "\n", pb->duration_nanos);
}

static void
print_build_ids(const struct text *text)
{
	const struct pb_profile *pb = text->profile->pb;
	for (size_t i = 0; i < pb->n_mapping; i++) {
		const struct pb_mapping *mapping = pb->mapping[i];
		if (*text_of(text, mapping->build_id))
			printf("# build_id = %s 0x%" PRIx64 "\n",
			       text_of(text, mapping->build_id),
			       mapping->memory_start);
	}
}

struct ordered {
	const struct pb_sample *sample;
	int64_t value;
	size_t index;
};

/* The most first; what is equal stays in the order of the file. */
static int
by_value(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return x->index < y->index ? -1 : 1;
}

static void
print_samples(const struct text *text)
{
	const struct pb_profile *pb = text->profile->pb;
	struct ordered *order = memory_get((pb->n_sample + 1) * sizeof(*order));
	for (size_t i = 0; i < pb->n_sample; i++)
		order[i] = (struct ordered){
			.sample = pb->sample[i],
			.value = pb->sample[i]->value[text->type],
			.index = i,
		};
	qsort(order, pb->n_sample, sizeof(*order), by_value);
	for (size_t i = 0; i < pb->n_sample; i++)
		print_sample(text, order[i].sample);
	free(order);
}

static void
print_whole(const struct text *text)
{
	print_head(text);
	print_samples(text);
	putchar('\n');
	print_comments(text);
	print_build_ids(text);
	print_mappings(text);
}

static int
show(struct view *view, char **arguments)
{
	struct profile *profile;
	int status = view_read_raw(view, arguments[0], &profile);
	if (status)
		return status;
	size_t lost;
	struct text text = { .profile = profile };
	text.offsets =
		function_offset_new(profile, &view->symbolizer.locate, &lost);
	view->lost = view->lost || lost;
	choose_columns(&text);
	view_output_begin(view);
	if (thread_text_is(profile)) {
		thread_text_print(profile, text.offsets);
		view_make_printable(profile);
		print_comments(&text);
	} else {
		view_make_printable(profile);
		print_whole(&text);
	}
	status = view_output_end(view);
	function_offset_free(text.offsets);
	profile_free(profile);
	return status;
}

static int
run(int argc, char **argv)
{
	struct view view;
	view_init(&view);
	return view_run(&view, &command_text, argc, argv, 1, show);
}

static const struct option_row *const options[] = {
	options_symbolizer,
	NULL,
};

const struct command command_text = {
	.name = "text",
	.arguments = "FILE",
	.summary = "The whole profile as text: each stack with its figures and "
		   "names",
	.options = options,
	.run = run,
};
