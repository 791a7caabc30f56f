/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region.h - the one reserved mapping that holds all profile state.
 *
 *	base                                                     base + size
 *	| header | tables, in the order they were made ... | not yet used |
 *	                                                   ^ used_bytes
 *
 * Links inside are offsets from the base and the header describes each table,
 * so a reader needs no address of this process: it works in place, on a copy,
 * on another process's memory and on a core file. Memory is only handed out,
 * never taken back; pages are touched when they are used first, which is the
 * region's only growth: no system call is made after region_init().
 */
#ifndef HEAPAGENT_REGION_H
#define HEAPAGENT_REGION_H

#include <stddef.h>
#include <stdint.h>

#include "compiler.h"

#define REGION_MAGIC "HEAPAGNT"
#define REGION_VERSION 2
#define REGION_TABLES 24
#define REGION_COUNTERS 48

/* An offset from the base in units of 8 bytes; 0 means none. */
typedef uint32_t region_offset;
#define REGION_UNIT 8
/* What 32-bit offsets can reach: 32 GiB. */
#define REGION_SIZE_MAX ((size_t)UINT32_MAX * REGION_UNIT)
/*
 * What the tables of fixed size take (modules, rows, sample buffers: 1.2 MiB)
 * and as much again for stacks and live blocks, with a little to spare.
 */
#define REGION_SIZE_MIN ((size_t)4 << 20)

/* Immutable after publish (count becomes visible with release order). */
struct region_table {
	char name[16];
	uint64_t offset_bytes;
	uint32_t stride_bytes;
	uint32_t capacity;
};

struct region_header {
	/* Immutable after region_init(). */
	char magic[8];
	uint32_t version;
	uint32_t header_bytes;
	uint64_t base_address;
	uint64_t size_bytes;
	uint64_t rate_bytes; /* HEAPAGENT_RATE */
	uint64_t start_realtime_ns;
	uint64_t start_monotonic_ns;
	uint64_t seed; /* random, one for each region */
	uint32_t pid;  /* of the process that mapped it; forks keep the copy */
	uint32_t reserved;

	CACHE_ALIGNED
	uint64_t used_bytes;  /* atomic; only grows */
	uint32_t table_count; /* atomic; published after tables[] */

	CACHE_ALIGNED
	struct region_table tables[REGION_TABLES];

	CACHE_ALIGNED
	uint64_t counters[REGION_COUNTERS]; /* atomic; enum counter */
};

/* Immutable after region_init(); the read-mostly base of everything. */
extern HIDDEN char *region_base;

/*
 * Maps size_bytes (REGION_SIZE_MIN to REGION_SIZE_MAX) and writes the header.
 * Of a limited address space (RLIMIT_AS) it takes an eighth at most.
 * 0, or -ENOMEM and no region. Not thread-safe. [init]
 */
int region_init(size_t size_bytes, uint64_t rate_bytes);

/*
 * Zeroed memory of size_bytes, aligned to align_bytes (a power of two, at
 * least REGION_UNIT), or NULL when the region is full. Lock-free. [any]
 */
void *region_alloc(size_t size_bytes, size_t align_bytes);

/*
 * The same, entered into the header's table list under name (at most 15
 * characters), as capacity entries of stride_bytes. Not thread-safe. [init]
 */
void *region_table(const char *name, size_t stride_bytes, size_t capacity,
		   size_t align_bytes);

/* Bytes handed out so far. [any] */
size_t region_used_bytes(void);

static inline struct region_header *
region_header(void)
{
	return (struct region_header *)(void *)region_base;
}

static inline void *
region_at(region_offset offset)
{
	return region_base + (size_t)offset * REGION_UNIT;
}

static inline region_offset
region_offset_of(const void *p)
{
	return (region_offset)(((uintptr_t)p - (uintptr_t)region_base) /
			       REGION_UNIT);
}

#endif
