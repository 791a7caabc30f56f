/* SPDX-License-Identifier: Apache-2.0 */
/* row_cache.c - the tables of row_cache.h, and what is written to them. */
#include "row_cache.h"

#include <errno.h>
#include <stddef.h>

#include "region.h"

/*
 * A table for which so many times its length was put is too small: what was
 * pushed out comes again, as each pc does once after a dlclose.
 */
#define PUTS_OF_ENTRY 3
/* The larger table is at most this share of the region. */
#define REGION_SHARE 16

row_cache_table row_cache;

/* Atomic: how many rows were put. */
static CACHE_ALIGNED uint32_t put_count;

static size_t
table_bytes(unsigned bits)
{
	return sizeof(struct row_cache_entry) << bits;
}

static row_cache_table
table_of(void *memory, unsigned bits)
{
	return (uintptr_t)memory | (64 - bits);
}

int
row_cache_init(void)
{
	void *memory = region_table("rows", sizeof(struct row_cache_entry),
				    (size_t)1 << ROW_CACHE_BITS, CACHE_LINE);

	if (memory == NULL)
		return -ENOMEM;
	row_cache = table_of(memory, ROW_CACHE_BITS);
	return 0;
}

static COLD void
grow(void)
{
	row_cache_table small = row_cache_now();
	void *memory;

	if ((small & 63) != 64 - ROW_CACHE_BITS ||
	    table_bytes(ROW_CACHE_BITS_MORE) >
		    region_header()->size_bytes / REGION_SHARE)
		return;
	memory = region_alloc(table_bytes(ROW_CACHE_BITS_MORE), CACHE_LINE);
	/* Release pairs with nothing but a reader's own address: new memory. */
	if (memory != NULL)
		atomic_store_release(&row_cache,
				     table_of(memory, ROW_CACHE_BITS_MORE));
}

/* Relaxed: an entry that is filled meanwhile is overwritten. */
static bool
is_empty(const struct row_cache_entry *entry)
{
	return atomic_load_relaxed(&entry->check) == 0;
}

void
row_cache_put(uint64_t pc, uint64_t salt, uint64_t row, uint64_t frame)
{
	row_cache_table table = row_cache_now();
	struct row_cache_entry *entry =
		row_cache_entry(table, pc, ROW_CACHE_ODD);
	struct row_cache_entry *other =
		row_cache_entry(table, pc, ROW_CACHE_ODD2);
	/* Relaxed: a number that changes, and how many there were. */
	uint32_t count = atomic_add_relaxed(&put_count, 1) + 1;

	if (!is_empty(entry) && (is_empty(other) || count % 2 == 0))
		entry = other;
	/*
	 * Relaxed: words that do not belong together are found out. Release
	 * pairs with row_cache_read(): the record of the module that the frame
	 * names comes with the check.
	 */
	atomic_store_relaxed(&entry->row, row);
	atomic_store_relaxed(&entry->frame, frame);
	atomic_store_release(&entry->check,
			     pc + salt + row_cache_mix(row, frame));
	if (count % (PUTS_OF_ENTRY << ROW_CACHE_BITS) == 0)
		grow();
}
