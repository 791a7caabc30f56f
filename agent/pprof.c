/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof.c - the fields of profile.proto; see pprof.h.
 *
 * Locations and strings are found again through hash tables with chains, whose
 * nodes come from the arena a chunk at a time: a profile has a few thousand
 * distinct frames among hundreds of thousands, and only memory that is used
 * should be touched.
 */
#include "pprof.h"

#include <errno.h>
#include <string.h>

#include "frame.h"
#include "modules.h"
#include "profile_proto.h"
#include "region.h"
#include "wire.h"

#define CHUNK_BYTES ((size_t)16384)
#define STRING_HEADS 1024
/* One head for eight frames, distinct or not: chains of one as a rule. */
#define FRAMES_PER_HEAD 8
#define LOCATION_HEADS_MIN 512
#define COMMENTS_BYTES ((size_t)32768)
#define LABEL_BYTES 32 /* a thread's name has 16 */
#define PAGE_BYTES UINT64_C(4096)

/* What a mapping is made of: a module's number, 0 for code of none, or: */
#define SOURCE_AGENT MODULES_MAX
#define SOURCES (MODULES_MAX + 1)
#define MODULE_EXECUTABLE 1

struct location {
	uint64_t frame;
	struct location *next; /* with the same head */
	uint64_t id;
};

struct string {
	const char *text;
	struct string *next;  /* with the same head */
	struct string *after; /* of index + 1 */
	uint32_t hash;
	uint32_t length;
	uint32_t index;
};

struct pprof {
	struct wire wire;
	struct arena *arena;
	int error; /* 0, or the first, as a negative errno */

	char *chunk;
	size_t chunk_left_bytes;

	struct string *string_heads[STRING_HEADS];
	struct string *first_string;
	struct string *last_string;

	struct location **location_heads;
	unsigned location_shift; /* hash to head */
	uint64_t location_count;

	/* Source to mapping id (0: none yet), and id to source. */
	uint16_t mapping_of[SOURCES];
	uint16_t source_of[SOURCES + 1];
	unsigned mapping_count;
	/* The addresses of no module that were met. */
	uint64_t anonymous_low;
	uint64_t anonymous_high;

	/* The sample's location ids: known before its message is begun. */
	uint64_t ids[PPROF_FRAMES_MAX];
	unsigned char buffer[WIRE_BUFFER_BYTES];
};
_Static_assert(SOURCES < UINT16_MAX, "a mapping id fits 16 bits");

static size_t
location_heads(size_t frames_max)
{
	size_t heads = LOCATION_HEADS_MIN;

	while (heads < frames_max / FRAMES_PER_HEAD)
		heads *= 2;
	return heads;
}

size_t
pprof_arena_bytes(size_t frames_max)
{
	size_t label = sizeof(struct string) + LABEL_BYTES;
	/* Its file name stays where it is; its build-id is copied in hex. */
	size_t mapping = 2 * sizeof(struct string) +
			 ALIGN_UP(2 * MODULE_BUILD_ID_MAX + 1, 8);

	return sizeof(struct pprof) + CACHE_LINE +
	       location_heads(frames_max) * sizeof(struct location *) +
	       frames_max * sizeof(struct location) +
	       MIN(frames_max, PPROF_LABEL_TEXTS_MAX) * label +
	       MIN(frames_max + 1, SOURCES) * mapping + COMMENTS_BYTES +
	       4 * CHUNK_BYTES;
}

/* The first error stays; what is written after it is thrown away. */
static void
fail(struct pprof *pprof, int error)
{
	if (pprof->error == 0)
		pprof->error = error;
}

/* Memory of 8-byte alignment that lives as long as the arena. */
static void *
take(struct pprof *pprof, size_t size_bytes)
{
	char *p;

	size_bytes = ALIGN_UP(size_bytes, 8);
	if (size_bytes > CHUNK_BYTES / 8) {
		p = arena_alloc(pprof->arena, size_bytes);
	} else {
		if (size_bytes > pprof->chunk_left_bytes) {
			pprof->chunk = arena_alloc(pprof->arena, CHUNK_BYTES);
			pprof->chunk_left_bytes =
				pprof->chunk == NULL ? 0 : CHUNK_BYTES;
		}
		p = pprof->chunk;
		if (p != NULL) {
			pprof->chunk += size_bytes;
			pprof->chunk_left_bytes -= size_bytes;
		}
	}
	if (p == NULL)
		fail(pprof, -ENOMEM);
	return p;
}

static uint32_t
hash_text(const char *text, size_t length)
{
	/* FNV-1a, 32 bits: short texts, and few of them. */
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619U;
	return hash;
}

static struct string *
find_string(struct string *string, uint32_t hash, const char *text,
	    size_t length)
{
	for (; string != NULL; string = string->next)
		if (string->hash == hash && string->length == length &&
		    memcmp(string->text, text, length) == 0)
			return string;
	return NULL;
}

/* The index in the string table; a text that stays is not copied. */
static uint64_t
intern(struct pprof *pprof, const char *text, bool stays)
{
	size_t length = strlen(text);
	uint32_t hash = hash_text(text, length);
	struct string **head = &pprof->string_heads[hash % STRING_HEADS];
	struct string *string = find_string(*head, hash, text, length);

	if (string != NULL)
		return string->index;
	string = take(pprof, sizeof(*string) + (stays ? 0 : length + 1));
	if (string == NULL)
		return 0;
	*string = (struct string){
		.text = stays ? text : memcpy(string + 1, text, length + 1),
		.next = *head,
		.hash = hash,
		.length = (uint32_t)length,
	};
	*head = string;
	if (pprof->last_string == NULL) {
		pprof->first_string = string;
	} else {
		string->index = pprof->last_string->index + 1;
		pprof->last_string->after = string;
	}
	pprof->last_string = string;
	return string->index;
}

static uint64_t
mapping_id(struct pprof *pprof, unsigned source)
{
	if (pprof->mapping_of[source] == 0) {
		pprof->mapping_of[source] = (uint16_t)++pprof->mapping_count;
		pprof->source_of[pprof->mapping_count] = (uint16_t)source;
	}
	return pprof->mapping_of[source];
}

struct pprof *
pprof_open(struct arena *arena, struct gzip *out, size_t frames_max)
{
	struct pprof *pprof = arena_alloc(arena, sizeof(*pprof));
	size_t heads = location_heads(frames_max);

	if (pprof == NULL)
		return NULL;
	pprof->arena = arena;
	pprof->location_heads =
		arena_alloc(arena, heads * sizeof(*pprof->location_heads));
	if (pprof->location_heads == NULL)
		return NULL;
	pprof->location_shift = 64U - (unsigned)__builtin_ctzll(heads);
	wire_open(&pprof->wire, out, pprof->buffer);
	/* String 0 is the empty one: profile.proto. */
	(void)intern(pprof, "", true);
	/* The first mapping is the main program's: profile.proto. */
	(void)mapping_id(pprof, MODULE_EXECUTABLE);
	return pprof->error == 0 ? pprof : NULL;
}

static void
put_value_type(struct pprof *pprof, unsigned field,
	       struct pprof_value_type type)
{
	size_t start = wire_begin(&pprof->wire, field);

	wire_number(&pprof->wire, VALUE_TYPE_TYPE,
		    intern(pprof, type.type, false));
	wire_number(&pprof->wire, VALUE_TYPE_UNIT,
		    intern(pprof, type.unit, false));
	wire_end(&pprof->wire, start);
}

void
pprof_sample_type(struct pprof *pprof, struct pprof_value_type type)
{
	put_value_type(pprof, PROFILE_SAMPLE_TYPE, type);
}

void
pprof_default_sample_type(struct pprof *pprof, const char *type)
{
	wire_number(&pprof->wire, PROFILE_DEFAULT_SAMPLE_TYPE,
		    intern(pprof, type, false));
}

void
pprof_period(struct pprof *pprof, struct pprof_value_type type, int64_t period)
{
	put_value_type(pprof, PROFILE_PERIOD_TYPE, type);
	wire_number(&pprof->wire, PROFILE_PERIOD, (uint64_t)period);
}

void
pprof_time(struct pprof *pprof, uint64_t time_ns)
{
	wire_number(&pprof->wire, PROFILE_TIME_NANOS, time_ns);
}

void
pprof_comment(struct pprof *pprof, const char *text)
{
	wire_number(&pprof->wire, PROFILE_COMMENT, intern(pprof, text, false));
}

/*
 * Stands for the callers that were not found: a name without an address. The
 * function has the number of the pseudo frame; all others are found from
 * addresses.
 */
static void
put_pseudo(struct pprof *pprof, uint64_t id, uint64_t frame)
{
	struct wire *wire = &pprof->wire;
	uint64_t name = intern(pprof, frame_pseudo_name(frame), true);
	size_t start = wire_begin(wire, PROFILE_FUNCTION);
	size_t line;

	wire_number(wire, FUNCTION_ID, frame);
	wire_number(wire, FUNCTION_NAME, name);
	wire_number(wire, FUNCTION_SYSTEM_NAME, name);
	wire_end(wire, start);

	start = wire_begin(wire, PROFILE_LOCATION);
	wire_number(wire, LOCATION_ID, id);
	wire_number(wire, LOCATION_MAPPING_ID, mapping_id(pprof, SOURCE_AGENT));
	line = wire_begin(wire, LOCATION_LINE);
	wire_number(wire, LINE_FUNCTION_ID, frame);
	wire_end(wire, line);
	wire_end(wire, start);
}

static void
note_anonymous(struct pprof *pprof, uint64_t address)
{
	if (pprof->anonymous_high == 0)
		pprof->anonymous_low = address;
	pprof->anonymous_low = MIN(pprof->anonymous_low, address);
	pprof->anonymous_high = MAX(pprof->anonymous_high, address + 1);
}

static void
put_location(struct pprof *pprof, uint64_t id, uint64_t frame)
{
	struct wire *wire = &pprof->wire;
	unsigned source = frame_module(frame);
	uint64_t address = frame_offset(frame);
	size_t start;

	if (frame_pseudo_name(frame) != NULL) {
		put_pseudo(pprof, id, frame);
		return;
	}
	/* A number that was never given out is no module's. */
	if (source >= MODULES_MAX || source >= modules_count())
		source = FRAME_MODULE_NONE;
	if (source == FRAME_MODULE_NONE)
		note_anonymous(pprof, address);
	else
		/* Modulo 2^48 as the offset was: it may have been negative. */
		address =
			(address + module_at(source)->bias) & FRAME_OFFSET_MASK;
	start = wire_begin(wire, PROFILE_LOCATION);
	wire_number(wire, LOCATION_ID, id);
	wire_number(wire, LOCATION_MAPPING_ID, mapping_id(pprof, source));
	wire_number(wire, LOCATION_ADDRESS, address);
	wire_end(wire, start);
}

/* The frame's location id; its location is written when it is new. */
static uint64_t
location_id(struct pprof *pprof, uint64_t frame)
{
	/* Fibonacci hashing: the product's top bits depend on all of it. */
	uint64_t hash = frame * UINT64_C(0x9e3779b97f4a7c15);
	struct location **head =
		&pprof->location_heads[hash >> pprof->location_shift];
	struct location *location;

	for (location = *head; location != NULL; location = location->next)
		if (location->frame == frame)
			return location->id;
	location = take(pprof, sizeof(*location));
	if (location == NULL)
		return 0;
	location->frame = frame;
	location->id = ++pprof->location_count;
	location->next = *head;
	*head = location;
	put_location(pprof, location->id, frame);
	return location->id;
}

static void
put_label(struct pprof *pprof, const struct pprof_label *label)
{
	struct wire *wire = &pprof->wire;
	size_t start = wire_begin(wire, SAMPLE_LABEL);

	wire_number(wire, LABEL_KEY, intern(pprof, label->key, false));
	if (label->text != NULL) {
		wire_number(wire, LABEL_STR, intern(pprof, label->text, false));
	} else {
		wire_number(wire, LABEL_NUM, (uint64_t)label->number);
		if (label->unit != NULL)
			wire_number(wire, LABEL_NUM_UNIT,
				    intern(pprof, label->unit, false));
	}
	wire_end(wire, start);
}

void
pprof_sample(struct pprof *pprof, const uint64_t *frames, unsigned frame_count,
	     const int64_t *values, unsigned value_count,
	     const struct pprof_label *labels, unsigned label_count)
{
	struct wire *wire = &pprof->wire;
	size_t start, packed;

	if (frame_count > PPROF_FRAMES_MAX)
		fail(pprof, -E2BIG);
	if (pprof->error != 0)
		return;
	for (unsigned i = 0; i < frame_count; i++)
		pprof->ids[i] = location_id(pprof, frames[i]);

	start = wire_begin(wire, PROFILE_SAMPLE);
	packed = wire_begin(wire, SAMPLE_LOCATION_ID);
	for (unsigned i = 0; i < frame_count; i++)
		wire_varint(wire, pprof->ids[i]);
	wire_end(wire, packed);
	packed = wire_begin(wire, SAMPLE_VALUE);
	for (unsigned i = 0; i < value_count; i++)
		wire_varint(wire, (uint64_t)values[i]);
	wire_end(wire, packed);
	for (unsigned i = 0; i < label_count; i++)
		put_label(pprof, &labels[i]);
	wire_end(wire, start);
}

static uint64_t
intern_build_id(struct pprof *pprof, const struct module *module)
{
	char hex[2 * MODULE_BUILD_ID_MAX + 1];
	unsigned bytes = MIN(module->build_id_bytes, MODULE_BUILD_ID_MAX);

	for (unsigned i = 0; i < bytes; i++) {
		hex[2 * i] = "0123456789abcdef"[module->build_id[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[module->build_id[i] & 15];
	}
	hex[2 * bytes] = '\0';
	return intern(pprof, hex, false);
}

static void
put_module(struct pprof *pprof, const struct module *module)
{
	struct wire *wire = &pprof->wire;

	wire_number(wire, MAPPING_MEMORY_START,
		    module->bias + module->text_start);
	wire_number(wire, MAPPING_MEMORY_LIMIT,
		    module->bias + module->text_end);
	wire_number(wire, MAPPING_FILE_OFFSET, module->text_file_offset);
	wire_number(wire, MAPPING_FILENAME,
		    intern(pprof, region_at(module->path), true));
	wire_number(wire, MAPPING_BUILD_ID, intern_build_id(pprof, module));
}

static void
put_mapping(struct pprof *pprof, uint64_t id, unsigned source)
{
	struct wire *wire = &pprof->wire;
	size_t start;

	/* Before the loader's tables were read there is no executable. */
	if (source == MODULE_EXECUTABLE && modules_count() <= source)
		return;
	start = wire_begin(wire, PROFILE_MAPPING);
	wire_number(wire, MAPPING_ID, id);
	if (source == SOURCE_AGENT) {
		wire_number(wire, MAPPING_FILENAME,
			    intern(pprof, "[heapagent]", true));
		wire_number(wire, MAPPING_HAS_FUNCTIONS, 1);
	} else if (source == FRAME_MODULE_NONE) {
		wire_number(wire, MAPPING_MEMORY_START,
			    pprof->anonymous_low & ~(PAGE_BYTES - 1));
		wire_number(wire, MAPPING_MEMORY_LIMIT,
			    ALIGN_UP(pprof->anonymous_high, PAGE_BYTES));
		wire_number(wire, MAPPING_FILENAME,
			    intern(pprof, "[anon]", true));
	} else {
		put_module(pprof, module_at(source));
	}
	wire_end(wire, start);
}

int
pprof_close(struct pprof *pprof)
{
	for (unsigned id = 1; id <= pprof->mapping_count; id++)
		put_mapping(pprof, id, pprof->source_of[id]);
	for (const struct string *string = pprof->first_string; string != NULL;
	     string = string->after)
		wire_text(&pprof->wire, PROFILE_STRING_TABLE, string->text,
			  string->length);
	fail(pprof, wire_flush(&pprof->wire));
	return pprof->error;
}
