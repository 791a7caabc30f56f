/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof_decode.c - prints profiles as lines that tests can search, or says in
 * one line what is wrong with the first that is invalid (and exits with 1).
 *
 *	sample_type alloc_objects count
 *	default_sample_type inuse_space
 *	period 524288 space bytes
 *	time_nanos 1700000000000000000
 *	duration_nanos 0
 *	comment heapagent 0.1.0
 *	mapping 1 0x555555555000-0x555555565000 @0x1000 /usr/bin/program BUILDID
 *	sample alloc_objects=4 alloc_space=4096 bytes=1024bytes thread="x"
 *	 frame 0x555555555100 1 /usr/bin/program+0x1100 FUNCTION
 *
 * An address is followed by its mapping's id, file and offset in the file.
 * With --raw before the files, functions have their mangled names.
 *
 * Reads with code that protobuf-c generates, nothing of the agent's.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "profile.pb-c.h"

#define FILE_BYTES_MAX ((size_t)1 << 30)

typedef Perftools__Profiles__Profile profile;
typedef Perftools__Profiles__Sample sample;
typedef Perftools__Profiles__Label label;
typedef Perftools__Profiles__Mapping mapping;
typedef Perftools__Profiles__Location location;
typedef Perftools__Profiles__Function function;
typedef Perftools__Profiles__ValueType value_type;

static const char *file_name;
static bool raw_names;

static void __attribute__((noreturn, format(printf, 1, 2)))
fail(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s: ", file_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static unsigned char *
read_file(size_t *size_bytes)
{
	gzFile gz = gzopen(file_name, "rb");
	size_t capacity = 1 << 20;
	unsigned char *data = malloc(capacity);
	int n = 0;

	if (gz == NULL)
		fail("cannot be opened");
	*size_bytes = 0;
	while ((n = gzread(gz, data + *size_bytes,
			   (unsigned)(capacity - *size_bytes))) > 0) {
		*size_bytes += (size_t)n;
		if (*size_bytes == capacity)
			data = realloc(data, capacity *= 2);
		if (*size_bytes > FILE_BYTES_MAX)
			fail("larger than %zu bytes", FILE_BYTES_MAX);
	}
	/* zlib hands plain bytes through, and a cut stream as it is. */
	if (n < 0 || gzdirect(gz))
		fail("is not gzip");
	if (gzclose_r(gz) != Z_OK)
		fail("is cut off");
	return data;
}

static const char *
text(const profile *p, int64_t index)
{
	if (index < 0 || (uint64_t)index >= p->n_string_table)
		fail("string %" PRId64 " of %zu", index, p->n_string_table);
	return p->string_table[index];
}

/*
 * Finds an entity by id: most are in the place their id says. NULL if there
 * is none.
 */
#define DEFINE_FIND(type) \
	static const type *find_##type(const profile *p, uint64_t id) \
	{ \
		if (id > 0 && id <= p->n_##type && p->type[id - 1]->id == id) \
			return p->type[id - 1]; \
		for (size_t i = 0; i < p->n_##type; i++) \
			if (p->type[i]->id == id) \
				return p->type[i]; \
		return NULL; \
	} \
	static void check_ids_of_##type(const profile *p) \
	{ \
		for (size_t i = 0; i < p->n_##type; i++) { \
			if (p->type[i]->id == 0) \
				fail(#type " without an id"); \
			if (find_##type(p, p->type[i]->id) != p->type[i]) \
				fail(#type " %" PRIu64 " is there twice", \
				     p->type[i]->id); \
		} \
	}
DEFINE_FIND(mapping)
DEFINE_FIND(location)
DEFINE_FIND(function)

static void
check_location(const profile *p, const location *l)
{
	const mapping *m = find_mapping(p, l->mapping_id);

	if (m == NULL)
		fail("location %" PRIu64 " has no mapping", l->id);
	/* A name may stand for code that has no address. */
	if ((l->address != 0 || l->n_line == 0) &&
	    (l->address < m->memory_start || l->address >= m->memory_limit))
		fail("location %" PRIu64 " at %#" PRIx64
		     " is outside its mapping %" PRIu64,
		     l->id, l->address, m->id);
	for (size_t i = 0; i < l->n_line; i++)
		if (find_function(p, l->line[i]->function_id) == NULL)
			fail("location %" PRIu64 " has an unknown function",
			     l->id);
}

static void
check(const profile *p)
{
	if (p->n_string_table == 0 || *p->string_table[0] != '\0')
		fail("the first string is not the empty one");
	if (p->n_sample_type == 0)
		fail("no sample type");
	check_ids_of_mapping(p);
	check_ids_of_location(p);
	check_ids_of_function(p);
	for (size_t i = 0; i < p->n_location; i++)
		check_location(p, p->location[i]);
	for (size_t i = 0; i < p->n_sample; i++) {
		const sample *s = p->sample[i];

		if (s->n_value != p->n_sample_type)
			fail("sample %zu has %zu values for %zu types", i,
			     s->n_value, p->n_sample_type);
		for (size_t j = 0; j < s->n_location_id; j++)
			if (find_location(p, s->location_id[j]) == NULL)
				fail("sample %zu has an unknown location", i);
	}
}

static void
print_head(const profile *p)
{
	for (size_t i = 0; i < p->n_sample_type; i++)
		printf("sample_type %s %s\n", text(p, p->sample_type[i]->type),
		       text(p, p->sample_type[i]->unit));
	printf("default_sample_type %s\n", text(p, p->default_sample_type));
	if (p->period_type != NULL)
		printf("period %" PRId64 " %s %s\n", p->period,
		       text(p, p->period_type->type),
		       text(p, p->period_type->unit));
	printf("time_nanos %" PRId64 "\n", p->time_nanos);
	printf("duration_nanos %" PRId64 "\n", p->duration_nanos);
	for (size_t i = 0; i < p->n_comment; i++)
		printf("comment %s\n", text(p, p->comment[i]));
	for (size_t i = 0; i < p->n_mapping; i++) {
		const mapping *m = p->mapping[i];

		printf("mapping %" PRIu64 " %#" PRIx64 "-%#" PRIx64
		       " @%#" PRIx64 " %s %s\n",
		       m->id, m->memory_start, m->memory_limit, m->file_offset,
		       text(p, m->filename), text(p, m->build_id));
	}
}

static void
print_frame(const profile *p, const location *l)
{
	const mapping *m = find_mapping(p, l->mapping_id);

	printf(" frame %#" PRIx64 " %" PRIu64 " %s", l->address, m->id,
	       text(p, m->filename));
	if (l->address != 0)
		printf("+%#" PRIx64,
		       l->address - m->memory_start + m->file_offset);
	for (size_t i = 0; i < l->n_line; i++) {
		const function *f = find_function(p, l->line[i]->function_id);

		printf(" %s", text(p, raw_names ? f->system_name : f->name));
		if (l->line[i]->line != 0)
			printf(" %s:%" PRId64, text(p, f->filename),
			       l->line[i]->line);
	}
	putchar('\n');
}

static void
print_sample(const profile *p, const sample *s)
{
	printf("sample");
	for (size_t i = 0; i < s->n_value; i++)
		printf(" %s=%" PRId64, text(p, p->sample_type[i]->type),
		       s->value[i]);
	for (size_t i = 0; i < s->n_label; i++) {
		const label *l = s->label[i];

		printf(" %s=", text(p, l->key));
		if (l->str != 0)
			printf("\"%s\"", text(p, l->str));
		else
			printf("%" PRId64 "%s", l->num, text(p, l->num_unit));
	}
	putchar('\n');
	for (size_t i = 0; i < s->n_location_id; i++)
		print_frame(p, find_location(p, s->location_id[i]));
}

int
main(int argc, char **argv)
{
	raw_names = argc > 1 && strcmp(argv[1], "--raw") == 0;
	if (argc < 2 + raw_names) {
		fprintf(stderr, "usage: %s [--raw] FILE...\n", argv[0]);
		return 2;
	}
	for (int i = 1 + raw_names; i < argc; i++) {
		size_t size_bytes;
		unsigned char *data;
		profile *p;

		file_name = argv[i];
		data = read_file(&size_bytes);
		p = perftools__profiles__profile__unpack(NULL, size_bytes,
							 data);
		if (p == NULL)
			fail("is not a profile");
		check(p);
		print_head(p);
		for (size_t j = 0; j < p->n_sample; j++)
			print_sample(p, p->sample[j]);
		perftools__profiles__profile__free_unpacked(p, NULL);
		free(data);
	}
	return 0;
}
