/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - a hash table from a string of bytes to a number.
 *
 * Keys are copied. One implementation serves names, identifiers and pairs of
 * numbers; nothing is ever removed.
 */
#ifndef HEAPAGENT_TABLE_H
#define HEAPAGENT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table;

struct table *table_new(void);
void table_free(struct table *table);

/* Whether the key is there; its number goes to *value. */
bool table_find(const struct table *table, const void *key, size_t key_bytes,
		uint64_t *value);

/*
 * The number of the key, which becomes *value if the key is new: returns true
 * if it was new, else stores the number it had in *value.
 */
bool table_add(struct table *table, const void *key, size_t key_bytes,
	       uint64_t *value);

size_t table_count(const struct table *table);

#endif
