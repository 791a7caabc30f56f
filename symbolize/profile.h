/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - a pprof profile in memory: read, checked, changed, written.
 *
 * The messages are protobuf-c's own (fields that its schema does not know stay
 * in them and are written back). Beside them stand tables from identifier to
 * message, so that no search is ever by address: two mappings may have had
 * the same one. A profile that profile_read() returned is consistent: every
 * string index is in the table, every identifier that is referred to exists,
 * every sample has one value for each sample type.
 *
 * Failures come back as a negative errno and one line of text in a struct
 * reason, without the file's name.
 */
#ifndef HEAPAGENT_PROFILE_H
#define HEAPAGENT_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/profile.pb-c.h"
#include "reason.h"

/* protobuf-c's names for the messages, in the reader's words. */
#define pb_profile Perftools__Profiles__Profile
#define pb_value_type Perftools__Profiles__ValueType
#define pb_sample Perftools__Profiles__Sample
#define pb_label Perftools__Profiles__Label
#define pb_mapping Perftools__Profiles__Mapping
#define pb_location Perftools__Profiles__Location
#define pb_line Perftools__Profiles__Line
#define pb_function Perftools__Profiles__Function

struct table;

struct profile {
	struct pb_profile *pb;
	char *path; /* as it was given, for messages */
	/* identifier → index in pb->mapping, pb->location, pb->function */
	struct table *mappings;
	struct table *locations;
	struct table *functions;
	struct table *strings; /* text → index; built when first needed */
	size_t string_capacity;
	size_t function_capacity;
	uint64_t function_id_last;
};

/*
 * Reads a profile, gzip-compressed or not, of pprof's format or one of the
 * texts of legacy_text.h; "-" is standard input. The result
 * is consistent as above, or there is none.
 */
int profile_read(const char *path, struct profile **profile,
		 struct reason *reason);

/* The same from memory, uncompressed; path is only for messages. */
int profile_parse(const char *path, const uint8_t *data, size_t data_bytes,
		  struct profile **profile, struct reason *reason);

/*
 * Writes it gzip-compressed under a temporary name beside path, then renames:
 * a reader sees the old file or the whole new one. "-" is standard output.
 */
int profile_write(const struct profile *profile, const char *path,
		  struct reason *reason);

void profile_free(struct profile *profile);

/* The text of a string index, never NULL. */
const char *profile_text(const struct profile *profile, int64_t string);

/* The index of a text, added if it is new (bytes that are not UTF-8 as '?'). */
int64_t profile_string(struct profile *profile, const char *text);

/* NULL if there is none. */
struct pb_mapping *profile_mapping(const struct profile *profile, uint64_t id);
struct pb_location *profile_location(const struct profile *profile,
				     uint64_t id);
struct pb_function *profile_function(const struct profile *profile,
				     uint64_t id);

/* The position in pb->location or pb->mapping; it must exist. */
size_t profile_location_index(const struct profile *profile, uint64_t id);
size_t profile_mapping_index(const struct profile *profile, uint64_t id);

/* Adds a function with a new identifier; the caller fills it in. */
struct pb_function *profile_add_function(struct profile *profile);

/* The sample type named so ("inuse_space"), or -1. */
int profile_sample_type(const struct profile *profile, const char *name);

/* The one to show first: the profile's wish, else the last one. */
int profile_default_type(const struct profile *profile);

#endif
