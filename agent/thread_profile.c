/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_profile.c - grouping by a hash table with open addressing.
 *
 * The table has twice as many slots as threads, so a probe looks at two slots
 * on average. A slot holds the group's number plus one; 0: free.
 */
#include "thread_profile.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "compiler.h"

static unsigned
slot_count(unsigned threads)
{
	unsigned slots = 16;

	while (slots < 2 * threads)
		slots *= 2;
	return slots;
}

size_t
thread_groups_arena_bytes(unsigned count)
{
	return slot_count(count) * sizeof(uint32_t) +
	       count * sizeof(struct thread_group) + 2 * CACHE_LINE;
}

/* FNV-1a over 64-bit words (Fowler, Noll, Vo; 64-bit prime and offset). */
static uint64_t
hash_record(const struct thread_record *record)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (unsigned i = 0; i < record->frame_count; i++)
		hash = (hash ^ record->frames[i]) * UINT64_C(0x100000001b3);
	for (const char *p = record->name; *p != '\0'; p++)
		hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 32;
}

static bool
same(const struct thread_record *a, const struct thread_record *b)
{
	return a->frame_count == b->frame_count &&
	       memcmp(a->frames, b->frames,
		      a->frame_count * sizeof(a->frames[0])) == 0 &&
	       strcmp(a->name, b->name) == 0 && strcmp(a->state, b->state) == 0;
}

int
thread_groups_make(struct thread_groups *groups, struct arena *arena,
		   const struct threads *threads)
{
	unsigned slots = slot_count(threads->count);
	uint32_t *table = arena_alloc(arena, slots * sizeof(*table));

	groups->count = 0;
	groups->groups =
		arena_alloc(arena, threads->count * sizeof(*groups->groups));
	if (table == NULL || groups->groups == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < threads->count; i++) {
		const struct thread_record *record = &threads->records[i];
		unsigned at = (unsigned)hash_record(record) & (slots - 1);

		if (record->frame_count == 0)
			continue;
		while (table[at] != 0 &&
		       !same(groups->groups[table[at] - 1].first, record))
			at = (at + 1) & (slots - 1);
		if (table[at] == 0) {
			groups->groups[groups->count++].first = record;
			table[at] = groups->count;
		}
		groups->groups[table[at] - 1].count++;
	}
	return 0;
}

size_t
thread_groups_frames(const struct thread_groups *groups)
{
	size_t frames = 0;

	for (unsigned i = 0; i < groups->count; i++)
		frames += groups->groups[i].first->frame_count;
	return frames;
}

void
thread_profile_write(struct pprof *pprof, const struct thread_groups *groups)
{
	const struct pprof_value_type type = { "threads", "count" };

	pprof_sample_type(pprof, type);
	pprof_default_sample_type(pprof, "threads");
	pprof_period(pprof, type, 1);
	for (unsigned i = 0; i < groups->count; i++) {
		const struct thread_record *record = groups->groups[i].first;
		const struct pprof_label labels[] = {
			{ .key = "thread", .text = record->name },
			{ .key = "state", .text = record->state },
		};
		int64_t value = groups->groups[i].count;

		pprof_sample(pprof, record->frames, record->frame_count, &value,
			     1, labels, ARRAY_SIZE(labels));
	}
}
