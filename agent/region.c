/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region.c - a bump allocator over segments; see region.h.
 *
 * Which part of the space is whose is decided by one compare-and-swap of
 * used_bytes alone. Its segment is there before: threads that come to a new
 * one together may each map it, and all but one give theirs back. The kernel
 * names the first mapping where it can (Linux 5.17), which is how a reader
 * outside the process finds it.
 */
#include "region.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "atomics.h"
#include "sys.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif
#define PAGE_BYTES ((size_t)4096)

_Static_assert(sizeof(struct region_header) % CACHE_LINE == 0,
	       "tables after the header start on a cache line");
_Static_assert(sizeof(struct region_table) == 32, "format of the region");

_Static_assert(REGION_SIZE_MIN >= REGION_INITIAL, "the first part fits");

uint64_t *region_segments;

/* Immutable after region_init(). */
static struct region_header *header;

/* The share of a limit that may be ours. */
#define LIMITED_SHARE 8

static size_t
within_limit(size_t size_bytes, int which)
{
	struct rlimit limit;

	if (sys_failed(sys_call4(SYS_prlimit64, 0, which, NULL, &limit)) ||
	    limit.rlim_cur == RLIM_INFINITY)
		return size_bytes;
	return MIN(size_bytes, limit.rlim_cur / LIMITED_SHARE);
}

static size_t
segment_count(void)
{
	return header->size_bytes >> REGION_SEGMENT_BITS;
}

static void
write_header(size_t size_bytes, uint64_t rate_bytes)
{
	memcpy(header->magic, REGION_MAGIC, sizeof(header->magic));
	header->version = REGION_VERSION;
	header->header_bytes = sizeof(*header);
	header->base_address = (uintptr_t)header;
	header->size_bytes = size_bytes;
	header->rate_bytes = rate_bytes;
	header->start_realtime_ns = sys_clock_ns(CLOCK_REALTIME);
	header->start_monotonic_ns = sys_clock_ns(CLOCK_MONOTONIC);
	sys_random(&header->seed, sizeof(header->seed));
	header->pid = (uint32_t)sys_getpid();
	header->used_bytes =
		sizeof(*header) + segment_count() * sizeof(header->segments[0]);
}

/*
 * The first part, behind a page without access: else the kernel may join a
 * later segment to it from below, and a reader looks for the header where a
 * mapping begins. Without huge pages, which would make sparse tables resident.
 */
static void *
map_first(void)
{
	char *guard = sys_reserve(PAGE_BYTES + REGION_INITIAL);
	char *base;

	if (guard == NULL)
		return NULL;
	base = guard + PAGE_BYTES;
	if (!sys_commit(base, REGION_INITIAL)) {
		sys_unmap(guard, PAGE_BYTES + REGION_INITIAL);
		return NULL;
	}
	(void)sys_call3(SYS_madvise, base, REGION_INITIAL, MADV_NOHUGEPAGE);
	(void)sys_call5(SYS_prctl, PR_SET_VMA, PR_SET_VMA_ANON_NAME, base,
			REGION_INITIAL, "heapagent");
	return base;
}

int
region_init(size_t size_bytes, uint64_t rate_bytes)
{
	size_bytes = MIN(MAX(size_bytes, REGION_SIZE_MIN), REGION_SIZE_MAX);
	size_bytes = within_limit(size_bytes, RLIMIT_AS);
	size_bytes = within_limit(size_bytes, RLIMIT_DATA);
	size_bytes &= ~(REGION_SEGMENT_BYTES - 1);
	if (size_bytes < REGION_SIZE_MIN)
		return -ENOMEM;
	header = map_first();
	if (header == NULL)
		return -ENOMEM;
	write_header(size_bytes, rate_bytes);
	region_segments = header->segments;
	for (size_t i = 0; i < REGION_INITIAL >> REGION_SEGMENT_BITS; i++)
		region_segments[i] =
			(uintptr_t)header + (i << REGION_SEGMENT_BITS);
	return 0;
}

/* Atomic: how often memory was asked for since the kernel refused any. */
static uint32_t refused;

/* Whoever drops samples for want of memory asks again now and then only. */
#define ASK_AGAIN_EVERY 64

/*
 * Memory for one segment, or, at the start alone, for count in a row. False
 * if the kernel gives none.
 */
static COLD bool
map_segments(size_t first, size_t count)
{
	uint64_t none = 0;
	char *memory;

	/* Relaxed: only how often is asked depends on it. */
	if (atomic_load_relaxed(&refused) != 0 &&
	    atomic_add_relaxed(&refused, 1) % ASK_AGAIN_EVERY != 0)
		return false;
	memory = sys_map(count << REGION_SEGMENT_BITS);
	atomic_store_relaxed(&refused, memory == NULL);
	if (memory == NULL)
		return false;
	/*
	 * Relaxed: new memory is zero for everybody, and the address is all
	 * that there is to know.
	 */
	if (!atomic_cas_relaxed(&region_segments[first], &none,
				(uintptr_t)memory))
		sys_unmap(memory, count << REGION_SEGMENT_BITS);
	for (size_t i = 1; i < count; i++)
		atomic_store_relaxed(&region_segments[first + i],
				     (uintptr_t)memory +
					     (i << REGION_SEGMENT_BITS));
	return true;
}

/* Where size_bytes can begin, in one piece, from `from` on. */
static uint64_t
place(uint64_t from, uint64_t size_bytes, uint64_t align_bytes)
{
	uint64_t start = ALIGN_UP(from, align_bytes);
	uint64_t last = start + size_bytes - 1;

	if (last < REGION_INITIAL ||
	    start >> REGION_SEGMENT_BITS == last >> REGION_SEGMENT_BITS)
		return start;
	return MAX(ALIGN_UP(start, (uint64_t)REGION_SEGMENT_BYTES),
		   (uint64_t)REGION_INITIAL);
}

/* True if the memory of [start, start + size_bytes) is there. */
static bool
provide(uint64_t start, uint64_t size_bytes)
{
	size_t first = start >> REGION_SEGMENT_BITS;
	size_t last = (start + size_bytes - 1) >> REGION_SEGMENT_BITS;

	/* Relaxed, as in map_segments(). */
	return atomic_load_relaxed(&region_segments[first]) != 0 ||
	       map_segments(first, last - first + 1);
}

static void *
alloc(uint64_t size_bytes, size_t align_bytes)
{
	uint64_t used = atomic_load_relaxed(&header->used_bytes), start;

	size_bytes = MAX(ALIGN_UP(size_bytes, (uint64_t)REGION_UNIT),
			 (uint64_t)REGION_UNIT);
	/*
	 * Relaxed throughout: the block is private to the caller until the
	 * caller publishes it, with release order of its own.
	 */
	do {
		start = place(used, size_bytes, align_bytes);
		if (size_bytes > header->size_bytes ||
		    start > header->size_bytes - size_bytes ||
		    !provide(start, size_bytes))
			return NULL;
	} while (!atomic_cas_relaxed(&header->used_bytes, &used,
				     start + size_bytes));
	return region_at((region_offset)(start / REGION_UNIT));
}

void *
region_alloc(size_t size_bytes, size_t align_bytes)
{
	return size_bytes <= REGION_SEGMENT_BYTES
		       ? alloc(size_bytes, align_bytes)
		       : NULL;
}

region_offset
region_offset_of(const void *p)
{
	uint64_t address = (uintptr_t)p, in_segment;
	/*
	 * The newest first: what is asked for was made just now. Relaxed: its
	 * maker has moved used_bytes to its end at least, in this thread.
	 */
	uint64_t last = atomic_load_relaxed(&header->used_bytes) - 1;

	for (size_t i = (last >> REGION_SEGMENT_BITS) + 1; i-- > 0;) {
		in_segment = address - atomic_load_relaxed(&region_segments[i]);
		if (in_segment < REGION_SEGMENT_BYTES)
			return (region_offset)(((uint64_t)i
							<< REGION_SEGMENT_BITS |
						in_segment) /
					       REGION_UNIT);
	}
	return 0;
}

void *
region_table(const char *name, size_t stride_bytes, size_t capacity,
	     size_t align_bytes)
{
	uint32_t index = header->table_count;
	struct region_table *table = &header->tables[index];
	void *memory;

	if (index == REGION_TABLES)
		return NULL;
	memory = alloc(stride_bytes * capacity, align_bytes);
	if (memory == NULL)
		return NULL;
	/* Not strncpy(): AddressSanitizer's cannot be called this early. The
	 * memory is zero. */
	memcpy(table->name, name, MIN(strlen(name), sizeof(table->name) - 1));
	table->offset_bytes = (uint64_t)region_offset_of(memory) * REGION_UNIT;
	table->stride_bytes = (uint32_t)stride_bytes;
	table->capacity = (uint32_t)capacity;
	/* Release, for a reader outside the process: the row before its count.
	 */
	atomic_store_release(&header->table_count, index + 1);
	return memory;
}

size_t
region_used_bytes(void)
{
	return atomic_load_relaxed(&header->used_bytes);
}
