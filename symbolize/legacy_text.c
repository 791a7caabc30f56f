/* SPDX-License-Identifier: Apache-2.0 */
/*
 * legacy_text.c - lines into messages; see legacy_text.h.
 *
 * One pass over the lines: a first line, stacks and comments in any order, and
 * the mappings after a line of their own.
 */
#include "legacy_text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "legacy_place.h"
#include "legacy_thread.h"
#include "memory.h"
#include "table.h"

/* 100 to 250 bytes of memory each, from 10 bytes of a hostile text. */
#define SAMPLES_MAX 4000000
#define LOCATIONS_MAX 4000000
#define MAPPINGS_MAX 65536

#define fail(...) reason_set(reason, -EINVAL, __VA_ARGS__)

struct reader {
	struct profile *profile;
	struct pb_profile *pb;
	struct reason *reason;
	size_t line_number;
	bool is_heap;
	bool has_alloc; /* allocated and in use are told apart */
	bool in_mappings;
	double rate_bytes; /* 0: not sampled */

	struct table *locations; /* address → index */
	struct table *build_ids; /* start of the mapping → string */
	size_t sample_capacity, location_capacity, mapping_capacity;
	size_t comment_capacity;
	int64_t block_bytes; /* of the stack that follows; 0: its mean */

	/* Of the stack that follows; tid 0: none is named. */
	struct {
		int64_t name, state, tid, blocked_ns;
	} thread;
};

static bool
starts(const char *line, const char *with)
{
	return strncmp(line, with, strlen(with)) == 0;
}

bool
legacy_text_is(const uint8_t *data, size_t data_bytes)
{
	char line[64] = "";
	int length = 0;
	unsigned long long total;
	size_t bytes = data_bytes < sizeof(line) ? data_bytes : sizeof(line);
	memcpy(line, data, bytes);
	line[sizeof(line) - 1] = '\0';
	return starts(line, "heap profile:") ||
	       (sscanf(line, "%*31[a-z_] profile: total %llu%n", &total,
		       &length) == 1 &&
		length > 0);
}

struct pb_profile *
legacy_text_empty(void)
{
	struct pb_profile *pb = memory_get(sizeof(*pb));
	perftools__profiles__profile__init(pb);
	pb->string_table = memory_get(sizeof(*pb->string_table));
	pb->string_table[0] = memory_string("");
	pb->n_string_table = 1;
	return pb;
}

static int64_t
whole(double value)
{
	/* Go's reader, too, cuts the fraction off. */
	return value < 0x1p62 ? (int64_t)value : INT64_MAX / 2;
}

static int64_t
string_of(struct reader *reader, const char *text)
{
	return profile_string(reader->profile, text);
}

static struct pb_value_type *
value_type(struct reader *reader, const char *type, const char *unit)
{
	struct pb_value_type *made = memory_get(sizeof(*made));
	perftools__profiles__value_type__init(made);
	made->type = string_of(reader, type);
	made->unit = string_of(reader, unit);
	return made;
}

static void
set_types(struct reader *reader, const char *const (*types)[2], size_t count)
{
	struct pb_profile *pb = reader->pb;
	pb->sample_type = memory_get(count * sizeof(*pb->sample_type));
	pb->n_sample_type = count;
	for (size_t i = 0; i < count; i++)
		pb->sample_type[i] =
			value_type(reader, types[i][0], types[i][1]);
	pb->default_sample_type = pb->sample_type[count - 1]->type;
}

/* heap profile: N: N [N: N] @ TYPE/NUMBER */
static int
read_heap_head(struct reader *reader, const char *line)
{
	static const char *const four[][2] = { { "alloc_objects", "count" },
					       { "alloc_space", "bytes" },
					       { "inuse_objects", "count" },
					       { "inuse_space", "bytes" } };
	static const char *const two[][2] = { { "objects", "count" },
					      { "space", "bytes" } };
	struct reason *reason = reader->reason;
	uint64_t n[4], period = 0;
	char type[32];
	int got = sscanf(line,
			 "heap profile: %" SCNu64 ": %" SCNu64 " [ %" SCNu64
			 ": %" SCNu64 " ] @ %31[a-z_0-9]/%" SCNu64,
			 &n[0], &n[1], &n[2], &n[3], type, &period);
	if (got < 5)
		return fail("line 1: malformed");
	if (!strcmp(type, "heap_v2") || !strcmp(type, "heapz_v2"))
		reader->rate_bytes = (double)period;
	else if (!strcmp(type, "heap"))
		/* C++ heap profiles once said twice the rate. */
		reader->rate_bytes = (double)(period / 2);
	else if (strcmp(type, "heapprofile") != 0)
		return fail("line 1: heap profiles of type '%s' are not known",
			    type);
	reader->is_heap = true;
	reader->has_alloc = (n[2] != n[0] && n[2]) || (n[3] != n[1] && n[3]);
	if (reader->has_alloc)
		set_types(reader, four, 4);
	else
		set_types(reader, two, 2);
	reader->pb->period_type = value_type(reader, "space", "bytes");
	reader->pb->period =
		reader->rate_bytes > 1 ? whole(reader->rate_bytes) : 1;
	return 0;
}

static int
read_head(struct reader *reader, char *line)
{
	if (starts(line, "heap profile:"))
		return read_heap_head(reader, line);
	line[strcspn(line, " ")] = '\0';
	const char *const one[][2] = { { line, "count" } };
	set_types(reader, one, 1);
	reader->pb->period_type = value_type(reader, line, "count");
	reader->pb->period = 1;
	return 0;
}

static int
add_location(struct reader *reader, uint64_t address, uint64_t *id)
{
	struct pb_profile *pb = reader->pb;
	struct reason *reason = reader->reason;
	uint64_t index = pb->n_location;
	if (!table_add(reader->locations, &address, sizeof(address), &index)) {
		*id = index + 1;
		return 0;
	}
	if (pb->n_location == LOCATIONS_MAX)
		return fail("more than %d different addresses", LOCATIONS_MAX);
	struct pb_location *location = memory_get(sizeof(*location));
	perftools__profiles__location__init(location);
	location->id = index + 1;
	location->address = address;
	memory_grow(pb->location, pb->n_location, reader->location_capacity);
	pb->location[pb->n_location++] = location;
	*id = location->id;
	return 0;
}

static struct pb_label *
new_label(struct reader *reader, struct pb_sample *sample, const char *key)
{
	struct pb_label *label = memory_get(sizeof(*label));
	perftools__profiles__label__init(label);
	label->key = string_of(reader, key);
	sample->label = memory_resize(sample->label, sample->n_label + 1,
				      sizeof(*sample->label));
	sample->label[sample->n_label++] = label;
	return label;
}

/* The addresses up to the end of the line. */
static int
read_stack(struct reader *reader, struct pb_sample *sample, const char *text)
{
	struct reason *reason = reader->reason;
	size_t capacity = 0;
	for (;;) {
		char *end;
		text += strspn(text, " \t\r");
		if (!*text)
			return 0;
		uint64_t address = strtoull(text, &end, 16), id = 0;
		if (end == text || !isxdigit((unsigned char)*text))
			return fail("line %zu: malformed address",
				    reader->line_number);
		/* From where the call returns to into the call. */
		int status =
			add_location(reader, address - (address != 0), &id);
		if (status)
			return status;
		memory_grow(sample->location_id, sample->n_location_id,
			    capacity);
		sample->location_id[sample->n_location_id++] = id;
		text = end;
	}
}

static struct pb_sample *
new_sample(struct reader *reader)
{
	struct pb_profile *pb = reader->pb;
	struct pb_sample *sample = memory_get(sizeof(*sample));
	perftools__profiles__sample__init(sample);
	sample->n_value = pb->n_sample_type;
	sample->value = memory_get(sample->n_value * sizeof(*sample->value));
	memory_grow(pb->sample, pb->n_sample, reader->sample_capacity);
	pb->sample[pb->n_sample++] = sample;
	return sample;
}

/* Samples into estimates: by 1 / (1 - exp(-size / rate)). */
static void
set_values(const struct reader *reader, int64_t value[2], uint64_t objects,
	   uint64_t bytes)
{
	double scale = 1;
	if (objects && bytes && reader->rate_bytes > 1)
		scale = -1 / expm1(-(double)bytes / (double)objects /
				   reader->rate_bytes);
	value[0] = whole((double)objects * scale);
	value[1] = whole((double)bytes * scale);
}

/* The label `bytes`: of the comment before, else the mean of the figures. */
static void
add_block_bytes(struct reader *reader, struct pb_sample *sample,
		const uint64_t figures[2])
{
	int64_t bytes = reader->block_bytes;
	if (!bytes && figures[0])
		bytes = whole((double)(figures[1] / figures[0]));
	reader->block_bytes = 0;
	if (bytes <= 0)
		return;
	struct pb_label *label = new_label(reader, sample, "bytes");
	label->num = bytes;
	label->num_unit = string_of(reader, "bytes");
}

/* N: N [N: N] @ ADDRESS... */
static int
read_bucket(struct reader *reader, const char *line)
{
	struct reason *reason = reader->reason;
	uint64_t n[4];
	int length = 0;
	/* Without the addresses: sscanf looks for the end of its input. */
	char head[128];
	snprintf(head, sizeof(head), "%.*s", (int)strcspn(line, "@"), line);
	if (sscanf(head,
		   "%" SCNu64 " : %" SCNu64 " [ %" SCNu64 " : %" SCNu64 " ] %n",
		   &n[0], &n[1], &n[2], &n[3], &length) != 4 ||
	    length == 0 || line[length] != '@')
		return fail("line %zu: malformed", reader->line_number);
	struct pb_sample *sample = new_sample(reader);
	if (reader->has_alloc)
		set_values(reader, sample->value, n[2], n[3]);
	set_values(reader, sample->value + (reader->has_alloc ? 2 : 0), n[0],
		   n[1]);
	add_block_bytes(reader, sample, n[2] ? n + 2 : n);
	return read_stack(reader, sample, line + length + 1);
}

static void
add_thread(struct reader *reader, struct pb_sample *sample)
{
	struct pb_label *blocked;
	new_label(reader, sample, "thread")->str = reader->thread.name;
	new_label(reader, sample, "state")->str = reader->thread.state;
	new_label(reader, sample, "tid")->num = reader->thread.tid;
	if (reader->thread.blocked_ns) {
		blocked = new_label(reader, sample, "blocked");
		blocked->num = reader->thread.blocked_ns;
		blocked->num_unit = string_of(reader, "nanoseconds");
	}
	reader->thread.tid = 0;
}

/* N @ ADDRESS... */
static int
read_count(struct reader *reader, const char *line)
{
	struct reason *reason = reader->reason;
	char *end;
	uint64_t count = strtoull(line, &end, 10);
	if (end == line || !isdigit((unsigned char)*line) || !starts(end, " @"))
		return fail("line %zu: malformed", reader->line_number);
	struct pb_sample *sample = new_sample(reader);
	sample->value[0] = whole((double)count);
	if (reader->thread.tid)
		add_thread(reader, sample);
	return read_stack(reader, sample, end + 2);
}

static void
read_thread(struct reader *reader, char *text)
{
	struct legacy_thread thread;
	if (!legacy_thread_read(text, &thread))
		return;
	reader->thread.tid = thread.tid;
	reader->thread.name = string_of(reader, thread.name);
	reader->thread.state = string_of(reader, thread.state);
	reader->thread.blocked_ns = thread.blocked_ns;
}

static void
add_comment(struct reader *reader, const char *text)
{
	struct pb_profile *pb = reader->pb;
	memory_grow(pb->comment, pb->n_comment, reader->comment_capacity);
	pb->comment[pb->n_comment++] = string_of(reader, text);
}

static void
read_comment(struct reader *reader, char *text)
{
	struct pb_profile *pb = reader->pb;
	uint64_t start;
	char hex[256];
	if (starts(text, "thread ") && !reader->is_heap) {
		read_thread(reader, text + strlen("thread "));
	} else if (sscanf(text, "build_id = %255[0-9a-f] 0x%" SCNx64, hex,
			  &start) == 2) {
		uint64_t string = (uint64_t)string_of(reader, hex);
		table_add(reader->build_ids, &start, sizeof(start), &string);
	} else if (reader->is_heap && sscanf(text, "bytes = %" SCNd64,
					     &reader->block_bytes) == 1) {
		return;
	} else if (sscanf(text, "time_nanos = %" SCNd64, &pb->time_nanos) ==
			   1 ||
		   sscanf(text, "duration_nanos = %" SCNd64,
			  &pb->duration_nanos) == 1) {
		return;
	} else {
		if (!strcmp(text, "kind = allocs") && reader->has_alloc)
			pb->default_sample_type = pb->sample_type[1]->type;
		add_comment(reader, text);
	}
}

/* START-END PERMS OFFSET DEVICE INODE PATH; others are left out. */
static int
read_mapping(struct reader *reader, const char *line)
{
	struct pb_profile *pb = reader->pb;
	struct reason *reason = reader->reason;
	uint64_t start, end, offset, build_id = 0;
	char perms[8];
	int path = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n",
		   &start, &end, perms, &offset, &path) != 4 ||
	    !strchr(perms, 'x'))
		return 0;
	if (pb->n_mapping == MAPPINGS_MAX)
		return fail("more than %d mappings", MAPPINGS_MAX);
	table_find(reader->build_ids, &start, sizeof(start), &build_id);
	struct pb_mapping *mapping = memory_get(sizeof(*mapping));
	perftools__profiles__mapping__init(mapping);
	mapping->id = pb->n_mapping + 1;
	mapping->memory_start = start;
	mapping->memory_limit = end;
	mapping->file_offset = offset;
	mapping->filename = string_of(reader, path ? line + path : "");
	mapping->build_id = (int64_t)build_id;
	memory_grow(pb->mapping, pb->n_mapping, reader->mapping_capacity);
	pb->mapping[pb->n_mapping++] = mapping;
	return 0;
}

static int
read_line(struct reader *reader, char *line)
{
	struct reason *reason = reader->reason;
	line += strspn(line, " \t");
	line[strcspn(line, "\r")] = '\0';
	if (reader->line_number == 1)
		return read_head(reader, line);
	if (!*line)
		return 0;
	if (*line == '#') {
		/* Frames with names, for a person: "#\t0x...". */
		if (line[1] == ' ')
			read_comment(reader, line + 2);
		return 0;
	}
	if (starts(line, "MAPPED_LIBRARIES:") ||
	    starts(line, "--- Memory map:")) {
		reader->in_mappings = true;
		return 0;
	}
	if (reader->in_mappings)
		return read_mapping(reader, line);
	if (reader->pb->n_sample == SAMPLES_MAX)
		return fail("more than %d stacks", SAMPLES_MAX);
	return reader->is_heap ? read_bucket(reader, line)
			       : read_count(reader, line);
}

static int
read_lines(struct reader *reader, char *text, const char *end)
{
	int status = 0;
	while (!status && text < end) {
		size_t length = strcspn(text, "\n");
		text[length] = '\0';
		reader->line_number++;
		status = read_line(reader, text);
		text += length + 1;
	}
	return status;
}

int
legacy_text_read(struct profile *profile, const uint8_t *data,
		 size_t data_bytes, struct reason *reason)
{
	struct reader reader = {
		.profile = profile,
		.pb = profile->pb,
		.reason = reason,
		.locations = table_new(),
		.build_ids = table_new(),
	};
	char *text = memory_get(data_bytes + 1);
	memcpy(text, data, data_bytes);
	int status = read_lines(&reader, text, text + data_bytes);
	if (!status)
		legacy_place(profile);
	free(text);
	table_free(reader.locations);
	table_free(reader.build_ids);
	return status;
}
