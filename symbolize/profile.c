/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - a pprof profile in memory: read, checked, changed, written.
 */
#include "profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "legacy_text.h"
#include "memory.h"
#include "profile_check.h"
#include "profile_file.h"
#include "table.h"
#include "utf8.h"

/*
 * A hostile file of 2-byte messages grows fortyfold when it is unpacked, so
 * the unpacked size has a bound of its own: protobuf-c gives up when its
 * allocator returns NULL.
 */
#define UNPACKED_MAX_BYTES (UINT64_C(3) << 30)

/* With all that is made of it, tables and views. */
#define PROFILE_MAX_BYTES (UINT64_C(8) << 30)

struct budget {
	uint64_t left_bytes;
};

static void *
budget_alloc(void *data, size_t bytes)
{
	struct budget *budget = data;
	/* malloc's own header and rounding counts, too. */
	uint64_t cost = bytes + 16;
	if (cost > budget->left_bytes)
		return NULL;
	budget->left_bytes -= cost;
	return malloc(bytes ? bytes : 1);
}

static void
budget_free(void *data, void *pointer)
{
	(void)data;
	free(pointer);
}

static struct pb_profile *
unpack(const uint8_t *data, size_t data_bytes, struct reason *reason)
{
	struct budget budget = { .left_bytes = UNPACKED_MAX_BYTES };
	ProtobufCAllocator allocator = { .alloc = budget_alloc,
					 .free = budget_free,
					 .allocator_data = &budget };
	struct pb_profile *pb =
		perftools__profiles__profile__unpack(&allocator, data_bytes,
						     data);
	if (!pb)
		reason_set(reason, 0,
			   budget.left_bytes < (UINT64_C(1) << 20)
				   ? "too large"
				   : "not a pprof profile (malformed "
				     "protocol buffer)");
	return pb;
}

int
profile_parse(const char *path, const uint8_t *data, size_t data_bytes,
	      struct profile **profile, struct reason *reason)
{
	if (!data_bytes)
		return reason_set(reason, -EINVAL, "the file is empty");
	bool is_text = legacy_text_is(data, data_bytes);
	struct pb_profile *pb = is_text ? legacy_text_empty()
					: unpack(data, data_bytes, reason);
	if (!pb)
		return -EINVAL;
	struct profile *made = memory_get(sizeof(*made));
	made->pb = pb;
	made->path = memory_string(path);
	made->mappings = table_new();
	made->locations = table_new();
	made->functions = table_new();
	made->string_capacity = pb->n_string_table;
	int status =
		is_text ? legacy_text_read(made, data, data_bytes, reason) : 0;
	made->function_capacity = pb->n_function;
	if (!status)
		status = profile_check(made, reason);
	if (status) {
		profile_free(made);
		return status;
	}
	*profile = made;
	return 0;
}

int
profile_read(const char *path, struct profile **profile, struct reason *reason)
{
	uint8_t *data;
	size_t data_bytes;
	memory_bound(PROFILE_MAX_BYTES);
	int status = profile_file_read(path, &data, &data_bytes, reason);
	if (status)
		return status;
	status = profile_parse(path, data, data_bytes, profile, reason);
	free(data);
	return status;
}

int
profile_write(const struct profile *profile, const char *path,
	      struct reason *reason)
{
	size_t bytes =
		perftools__profiles__profile__get_packed_size(profile->pb);
	uint8_t *data = memory_get(bytes);
	perftools__profiles__profile__pack(profile->pb, data);
	int status = profile_file_write(path, data, bytes, reason);
	free(data);
	return status;
}

void
profile_free(struct profile *profile)
{
	if (!profile)
		return;
	perftools__profiles__profile__free_unpacked(profile->pb, NULL);
	table_free(profile->mappings);
	table_free(profile->locations);
	table_free(profile->functions);
	table_free(profile->strings);
	free(profile->path);
	free(profile);
}

const char *
profile_text(const struct profile *profile, int64_t string)
{
	return profile->pb->string_table[string];
}

static void
index_strings(struct profile *profile)
{
	profile->strings = table_new();
	for (size_t i = 0; i < profile->pb->n_string_table; i++) {
		const char *text = profile->pb->string_table[i];
		uint64_t index = i;
		table_add(profile->strings, text, strlen(text), &index);
	}
}

int64_t
profile_string(struct profile *profile, const char *text)
{
	struct pb_profile *pb = profile->pb;
	if (!profile->strings)
		index_strings(profile);
	char *copy = memory_string(text);
	utf8_repair(copy);
	uint64_t index = pb->n_string_table;
	if (!table_add(profile->strings, copy, strlen(copy), &index)) {
		free(copy);
		return (int64_t)index;
	}
	memory_grow(pb->string_table, pb->n_string_table,
		    profile->string_capacity);
	pb->string_table[pb->n_string_table++] = copy;
	return (int64_t)index;
}

static bool
find_index(const struct table *table, uint64_t id, uint64_t *index)
{
	return table_find(table, &id, sizeof(id), index);
}

struct pb_mapping *
profile_mapping(const struct profile *profile, uint64_t id)
{
	uint64_t index;
	return find_index(profile->mappings, id, &index)
		       ? profile->pb->mapping[index]
		       : NULL;
}

struct pb_location *
profile_location(const struct profile *profile, uint64_t id)
{
	uint64_t index;
	return find_index(profile->locations, id, &index)
		       ? profile->pb->location[index]
		       : NULL;
}

struct pb_function *
profile_function(const struct profile *profile, uint64_t id)
{
	uint64_t index;
	return find_index(profile->functions, id, &index)
		       ? profile->pb->function[index]
		       : NULL;
}

size_t
profile_location_index(const struct profile *profile, uint64_t id)
{
	uint64_t index = 0;
	find_index(profile->locations, id, &index);
	return index;
}

size_t
profile_mapping_index(const struct profile *profile, uint64_t id)
{
	uint64_t index = 0;
	find_index(profile->mappings, id, &index);
	return index;
}

struct pb_function *
profile_add_function(struct profile *profile)
{
	struct pb_profile *pb = profile->pb;
	struct pb_function *function = memory_get(sizeof(*function));
	perftools__profiles__function__init(function);
	uint64_t index = pb->n_function;
	do {
		function->id = ++profile->function_id_last;
	} while (!function->id || !table_add(profile->functions, &function->id,
					     sizeof(function->id), &index));
	memory_grow(pb->function, pb->n_function, profile->function_capacity);
	pb->function[pb->n_function++] = function;
	return function;
}

int
profile_sample_type(const struct profile *profile, const char *name)
{
	for (size_t i = 0; i < profile->pb->n_sample_type; i++)
		if (!strcmp(profile_text(profile,
					 profile->pb->sample_type[i]->type),
			    name))
			return (int)i;
	return -1;
}

int
profile_default_type(const struct profile *profile)
{
	const char *wish =
		profile_text(profile, profile->pb->default_sample_type);
	int index = *wish ? profile_sample_type(profile, wish) : -1;
	return index >= 0 ? index : (int)profile->pb->n_sample_type - 1;
}
