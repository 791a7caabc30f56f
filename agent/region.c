/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region.c - a bump allocator over one reserved mapping; see region.h.
 *
 * The reservation is made without access to swap accounting (MAP_NORESERVE),
 * so its size costs address space only. The kernel names the mapping where it
 * can (Linux 5.17), which is how a reader outside the process finds it.
 */
#include "region.h"

#include <errno.h>
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

_Static_assert(sizeof(struct region_header) % CACHE_LINE == 0,
	       "tables after the header start on a cache line");
_Static_assert(sizeof(struct region_table) == 32, "format of the region");

char *region_base;

/* The share of a limited address space (RLIMIT_AS) that may be ours. */
#define LIMITED_SHARE 8

static size_t
within_limit(size_t size_bytes)
{
	struct rlimit limit;

	if (sys_failed(sys_call4(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit)) ||
	    limit.rlim_cur == RLIM_INFINITY)
		return size_bytes;
	return MIN(size_bytes, limit.rlim_cur / LIMITED_SHARE);
}

int
region_init(size_t size_bytes, uint64_t rate_bytes)
{
	struct region_header *header;
	void *base = NULL;

	size_bytes = MIN(MAX(size_bytes, REGION_SIZE_MIN), REGION_SIZE_MAX);
	size_bytes = within_limit(size_bytes);
	if (size_bytes < REGION_SIZE_MIN)
		return -ENOMEM;
	size_bytes = ALIGN_UP(size_bytes, (size_t)4096);
	while ((base = sys_map(size_bytes)) == NULL) {
		if (size_bytes / 2 < REGION_SIZE_MIN)
			return -ENOMEM;
		size_bytes = ALIGN_UP(size_bytes / 2, (size_t)4096);
	}
	/* Without huge pages: they would make a sparse table resident. */
	(void)sys_call3(SYS_madvise, base, size_bytes, MADV_NOHUGEPAGE);
	(void)sys_call5(SYS_prctl, PR_SET_VMA, PR_SET_VMA_ANON_NAME, base,
			size_bytes, "heapagent");

	header = base;
	memcpy(header->magic, REGION_MAGIC, sizeof(header->magic));
	header->version = REGION_VERSION;
	header->header_bytes = sizeof(*header);
	header->base_address = (uintptr_t)base;
	header->size_bytes = size_bytes;
	header->rate_bytes = rate_bytes;
	header->start_realtime_ns = sys_clock_ns(CLOCK_REALTIME);
	header->start_monotonic_ns = sys_clock_ns(CLOCK_MONOTONIC);
	sys_random(&header->seed, sizeof(header->seed));
	header->pid = (uint32_t)sys_getpid();
	header->used_bytes = sizeof(*header);
	region_base = base;
	return 0;
}

void *
region_alloc(size_t size_bytes, size_t align_bytes)
{
	struct region_header *header = region_header();
	uint64_t used = atomic_load_relaxed(&header->used_bytes);
	uint64_t start, end;

	/*
	 * Relaxed throughout: the block is private to the caller until the
	 * caller publishes it, with release order of its own.
	 */
	do {
		start = ALIGN_UP(used, (uint64_t)align_bytes);
		end = start +
		      ALIGN_UP((uint64_t)size_bytes, (uint64_t)REGION_UNIT);
		if (end > header->size_bytes || end < start)
			return NULL;
	} while (!atomic_cas_relaxed(&header->used_bytes, &used, end));
	return region_base + start;
}

void *
region_table(const char *name, size_t stride_bytes, size_t capacity,
	     size_t align_bytes)
{
	struct region_header *header = region_header();
	uint32_t index = header->table_count;
	struct region_table *table = &header->tables[index];
	void *memory;

	if (index == REGION_TABLES)
		return NULL;
	memory = region_alloc(stride_bytes * capacity, align_bytes);
	if (memory == NULL)
		return NULL;
	/* Not strncpy(): AddressSanitizer's cannot be called this early. The
	 * memory is zero. */
	memcpy(table->name, name, MIN(strlen(name), sizeof(table->name) - 1));
	table->offset_bytes = (uint64_t)((char *)memory - region_base);
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
	return atomic_load_relaxed(&region_header()->used_bytes);
}
