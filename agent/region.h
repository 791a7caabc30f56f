/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region.h - the one space of offsets that holds all profile state.
 *
 *	0                                                        size_bytes
 *	| header | segments[] | tables, and what is linked ... | not yet |
 *	|<- REGION_INITIAL ->|<- segment ->|<- segment ->|     ^ used_bytes
 *
 * The space is continuous, the memory behind it is not: it comes a segment at
 * a time, as it is used, wherever the kernel has room. So nothing is reserved
 * that limits (RLIMIT_AS, RLIMIT_DATA, RLIMIT_MEMLOCK, strict overcommit)
 * would count against the program, and mlockall() finds nothing to fill. Only
 * what was there at the start is one piece; no object crosses the border of a
 * later segment.
 *
 * Links inside are offsets and the header describes each table and has the
 * address of each segment, so a reader needs no pointer of this process: it
 * works in place, on a copy, on another process's memory and on a core file.
 * Memory is only handed out, never taken back. Growth is one mmap, the one
 * that malloc itself makes. In a sandbox that the program was seen to enter
 * there is none (sys_confined), as strict mode kills for it: what is there then
 * is all (docs/decisions/0014-segments.md).
 */
#ifndef HEAPAGENT_REGION_H
#define HEAPAGENT_REGION_H

#include <stddef.h>
#include <stdint.h>

#include "atomics.h"
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
/* What is mapped at a time. An object has at most this size. */
#define REGION_SEGMENT_BITS 20
#define REGION_SEGMENT_BYTES ((size_t)1 << REGION_SEGMENT_BITS)
/*
 * What is mapped at the start, in one piece: the tables of fixed size, and
 * about as much again, so that a program that confines itself to a sandbox
 * soon after its start has some to go on with.
 */
#define REGION_INITIAL ((size_t)4 * REGION_SEGMENT_BYTES)
#define REGION_SIZE_MIN REGION_INITIAL

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

	/*
	 * Atomic, each set once: the address of each segment, 0: not there
	 * yet. As many as size_bytes has segments.
	 */
	CACHE_ALIGNED
	uint64_t segments[];
};

/* Immutable after region_init(); the header's segments. */
extern HIDDEN uint64_t *region_segments;

/*
 * Maps the first part of a region that may grow to size_bytes
 * (REGION_SIZE_MIN to REGION_SIZE_MAX) and writes the header. Where address
 * space or data are limited (RLIMIT_AS, RLIMIT_DATA) the region may grow to an
 * eighth of the limit. 0, or -ENOMEM and no region. Not thread-safe. [init]
 */
int region_init(size_t size_bytes, uint64_t rate_bytes);

/*
 * Zeroed memory of size_bytes, at most REGION_SEGMENT_BYTES, aligned to
 * align_bytes (a power of two from REGION_UNIT to the page's), or NULL when
 * the region is full or the kernel gives no memory. Lock-free. [any]
 */
void *region_alloc(size_t size_bytes, size_t align_bytes);

/*
 * The same of any size, entered into the header's table list under name (at
 * most 15 characters), as capacity entries of stride_bytes. Not thread-safe.
 * [init]
 */
void *region_table(const char *name, size_t stride_bytes, size_t capacity,
		   size_t align_bytes);

/* Bytes handed out so far. [any] */
size_t region_used_bytes(void);

/* The offset of what region_alloc() gave; looks through the segments. [any] */
region_offset region_offset_of(const void *p);

static inline struct region_header *
region_header(void)
{
	/* It begins the first segment, whose address never changes. */
	return (struct region_header *)(uintptr_t)region_segments[0];
}

static inline void *
region_at(region_offset offset)
{
	uint64_t bytes = (uint64_t)offset * REGION_UNIT;

	/*
	 * Relaxed: whoever made what lies there had its segment, and an
	 * offset is read after it was published.
	 */
	return (void *)(uintptr_t)(atomic_load_relaxed(
					   &region_segments
						   [bytes >>
						    REGION_SEGMENT_BITS]) +
				   (bytes & (REGION_SEGMENT_BYTES - 1)));
}

#endif
