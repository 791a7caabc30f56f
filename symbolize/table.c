/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - open addressing over an array of entries; keys lie in one buffer.
 *
 *	slots    | entry number + 1, 0: empty |   power of two, load < 1/2
 *	entries  | hash, key offset, key bytes, value |  in order of arrival
 *	keys     | bytes of all keys, one after the other |
 *
 * At half load a linear probe for a missing key looks at 2.5 slots on average
 * (Knuth, The Art of Computer Programming 3, 6.4).
 */
#include "table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "memory.h"

struct entry {
	uint64_t hash;
	size_t key_offset;
	size_t key_bytes;
	uint64_t value;
};

struct table {
	uint32_t *slots;
	size_t slot_count;
	struct entry *entries;
	size_t entry_count;
	size_t entry_capacity;
	char *keys;
	size_t keys_bytes;
	size_t keys_capacity;
};

#define SLOTS_FIRST 64

/* Unknown to whoever made the keys: else they could all meet in one slot. */
static uint64_t secret[2];

static uint64_t
mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Eight bytes at a time, folded by a multiplication with the secret. */
static uint64_t
hash_of(const void *key, size_t key_bytes)
{
	const unsigned char *bytes = key;
	uint64_t hash = secret[0] ^ key_bytes;
	for (; key_bytes >= sizeof(uint64_t); key_bytes -= sizeof(uint64_t)) {
		uint64_t word;
		memcpy(&word, bytes, sizeof(word));
		hash = mix(hash ^ word, secret[1]);
		bytes += sizeof(word);
	}
	uint64_t word = 0;
	if (key_bytes)
		memcpy(&word, bytes, key_bytes);
	return mix(hash ^ word, secret[1]);
}

struct table *
table_new(void)
{
	struct table *table = memory_get(sizeof(*table));
	if (!secret[1]) {
		/* Without random numbers the table is as good as any other. */
		if (getrandom(secret, sizeof(secret), 0) < 0)
			secret[0] = (uintptr_t)table;
		/* Odd, and no power of two. */
		secret[1] |= UINT64_C(0x9e3779b97f4a7c15);
	}
	table->slot_count = SLOTS_FIRST;
	table->slots = memory_get(SLOTS_FIRST * sizeof(*table->slots));
	return table;
}

void
table_free(struct table *table)
{
	if (!table)
		return;
	free(table->slots);
	free(table->entries);
	free(table->keys);
	free(table);
}

static size_t
find_slot(const struct table *table, uint64_t hash, const void *key,
	  size_t key_bytes)
{
	size_t mask = table->slot_count - 1;
	size_t slot = hash & mask;
	for (; table->slots[slot]; slot = (slot + 1) & mask) {
		const struct entry *entry =
			&table->entries[table->slots[slot] - 1];
		if (entry->hash == hash && entry->key_bytes == key_bytes &&
		    !memcmp(table->keys + entry->key_offset, key, key_bytes))
			break;
	}
	return slot;
}

static void
grow_slots(struct table *table)
{
	size_t mask = 2 * table->slot_count - 1;
	uint32_t *slots = memory_get((mask + 1) * sizeof(*slots));
	for (size_t i = 0; i < table->entry_count; i++) {
		size_t slot = table->entries[i].hash & mask;
		while (slots[slot])
			slot = (slot + 1) & mask;
		slots[slot] = (uint32_t)(i + 1);
	}
	free(table->slots);
	table->slots = slots;
	table->slot_count = mask + 1;
}

static size_t
keep_key(struct table *table, const void *key, size_t key_bytes)
{
	size_t offset = table->keys_bytes;
	if (offset + key_bytes > table->keys_capacity || !table->keys) {
		table->keys_capacity = 2 * (offset + key_bytes) + 64;
		table->keys =
			memory_resize(table->keys, table->keys_capacity, 1);
	}
	if (key_bytes)
		memcpy(table->keys + offset, key, key_bytes);
	table->keys_bytes += key_bytes;
	return offset;
}

bool
table_find(const struct table *table, const void *key, size_t key_bytes,
	   uint64_t *value)
{
	uint64_t hash = hash_of(key, key_bytes);
	uint32_t number = table->slots[find_slot(table, hash, key, key_bytes)];
	if (!number)
		return false;
	*value = table->entries[number - 1].value;
	return true;
}

bool
table_add(struct table *table, const void *key, size_t key_bytes,
	  uint64_t *value)
{
	uint64_t hash = hash_of(key, key_bytes);
	size_t slot = find_slot(table, hash, key, key_bytes);
	if (table->slots[slot]) {
		*value = table->entries[table->slots[slot] - 1].value;
		return false;
	}
	memory_grow(table->entries, table->entry_count, table->entry_capacity);
	table->entries[table->entry_count++] = (struct entry){
		.hash = hash,
		.key_offset = keep_key(table, key, key_bytes),
		.key_bytes = key_bytes,
		.value = *value,
	};
	table->slots[slot] = (uint32_t)table->entry_count;
	if (2 * table->entry_count > table->slot_count)
		grow_slots(table);
	return true;
}

size_t
table_count(const struct table *table)
{
	return table->entry_count;
}
