/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_view.c - the region's header and chains, by process_vm_readv(2).
 *
 * Each stack and bucket is read by itself, after the link to it: memory that
 * was copied earlier might not have it yet. A chain's length is bounded by
 * what the region can hold, so that a ring of links ends.
 */
#include "region_view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "memory.h"

#define PAGE_BYTES 4096
/* proc_pid_pagemap(5): in memory, or swapped out. */
#define PAGE_IS_USED (UINT64_C(3) << 62)

static int
read_at(pid_t pid, uint64_t address, void *to, size_t size_bytes)
{
	struct iovec local = { to, size_bytes };
	struct iovec remote = { (void *)(uintptr_t)address, size_bytes };
	ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
	if (got < 0)
		return -errno;
	return (size_t)got == size_bytes ? 0 : -EFAULT;
}

static size_t
segment_count(const struct region_view *view)
{
	return view->header.size_bytes >> REGION_SEGMENT_BITS;
}

/* The address of an offset below the region's size; 0 if nothing is there. */
static uint64_t
address_of(const struct region_view *view, uint64_t offset)
{
	uint64_t *segment = &view->segments[offset >> REGION_SEGMENT_BITS];
	/* It may have come since: the region grows. */
	if (!*segment &&
	    read_at(view->pid,
		    view->base + offsetof(struct region_header, segments) +
			    (uint64_t)(segment - view->segments) *
				    sizeof(*segment),
		    segment, sizeof(*segment)) != 0)
		*segment = 0;
	return *segment ? *segment + (offset & (REGION_SEGMENT_BYTES - 1)) : 0;
}

/* An object within the region, which may go over several segments. */
static int
read_object(const struct region_view *view, uint64_t offset, void *to,
	    size_t size_bytes)
{
	int status = 0;
	if (offset > view->header.size_bytes ||
	    size_bytes > view->header.size_bytes - offset)
		return -EPROTO;
	for (size_t done = 0; done < size_bytes && !status;) {
		uint64_t address = address_of(view, offset + done);
		size_t part = REGION_SEGMENT_BYTES -
			      ((offset + done) & (REGION_SEGMENT_BYTES - 1));
		if (part > size_bytes - done)
			part = size_bytes - done;
		status = address ? read_at(view->pid, address,
					   (char *)to + done, part)
				 : -EPROTO;
		done += part;
	}
	return status;
}

/* 0, -EAGAIN if no region begins there, or as region_view_open(). */
static int
try_mapping(struct region_view *view, uint64_t start, uint64_t end)
{
	struct region_header *header = &view->header;
	int status;
	if (end - start < sizeof(*header))
		return -EAGAIN;
	/* First the magic: most mappings are something else. */
	status =
		read_at(view->pid, start, header->magic, sizeof(header->magic));
	if (status)
		return status == -EFAULT || status == -EIO ? -EAGAIN : status;
	if (memcmp(header->magic, REGION_MAGIC, sizeof(header->magic)) != 0)
		return -EAGAIN;
	status = read_at(view->pid, start, header, sizeof(*header));
	if (status)
		return status;
	/* A copy of the region somewhere else does not count. */
	if (header->base_address != start)
		return -EAGAIN;
	if (header->version != REGION_VERSION ||
	    header->header_bytes != sizeof(*header) ||
	    header->size_bytes < REGION_INITIAL ||
	    header->size_bytes > REGION_SIZE_MAX ||
	    end - start < REGION_INITIAL ||
	    header->used_bytes > header->size_bytes ||
	    header->table_count > REGION_TABLES)
		return -EPROTO;
	view->base = start;
	return 0;
}

/* Private, readable, writable and of no file; named only if so wanted. */
static bool
is_candidate(const char *line, bool named, uint64_t *start, uint64_t *end)
{
	char perms[8], inode[24];
	int name = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %23s %n", start,
		   end, perms, inode, &name) != 4 ||
	    strcmp(perms, "rw-p") != 0 || strcmp(inode, "0") != 0)
		return false;
	return named ? strncmp(line + name, "[anon:heapagent]", 16) == 0
		     : line[name] == '\0' || line[name] == '\n';
}

static int
search(struct region_view *view, bool named)
{
	char path[64], line[4352];
	uint64_t start, end;
	int status = -EAGAIN;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)view->pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	errno = 0;
	while (status == -EAGAIN && fgets(line, sizeof(line), file))
		if (is_candidate(line, named, &start, &end))
			status = try_mapping(view, start, end);
	/* The file opens without permission; then reading it fails. */
	if (status == -EAGAIN)
		status = ferror(file) && errno ? -errno : -ENOENT;
	fclose(file);
	return status;
}

int
region_view_open(struct region_view *view, pid_t pid)
{
	*view = (struct region_view){ .pid = pid };
	int status = search(view, true);
	if (status == -ENOENT)
		status = search(view, false);
	if (status)
		return status;
	size_t size_bytes = segment_count(view) * sizeof(*view->segments);
	view->segments = memory_get(size_bytes);
	return read_at(pid,
		       view->base + offsetof(struct region_header, segments),
		       view->segments, size_bytes);
}

void
region_view_close(struct region_view *view)
{
	free(view->segments);
	view->segments = NULL;
}

int
region_view_again(struct region_view *view)
{
	struct region_header header;
	int status = read_at(view->pid, view->base, &header, sizeof(header));
	/* What describes the region was checked, and stays. */
	if (!status)
		memcpy(view->header.counters, header.counters,
		       sizeof(header.counters));
	return status;
}

static const struct region_table *
find_table(const struct region_view *view, const char *name)
{
	for (uint32_t i = 0; i < view->header.table_count; i++)
		if (!strncmp(view->header.tables[i].name, name,
			     sizeof(view->header.tables[i].name)))
			return &view->header.tables[i];
	return NULL;
}

int
region_view_table(const struct region_view *view, const char *name, void *to,
		  size_t stride_bytes)
{
	const struct region_table *table = find_table(view, name);

	if (!table || table->stride_bytes != stride_bytes ||
	    table->capacity < 1)
		return -EPROTO;
	return read_object(view, table->offset_bytes, to, stride_bytes);
}

static int
open_pagemap(const struct region_view *view)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)view->pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* How many entries were read, of the pages from the address on. */
static size_t
read_pagemap(int fd, uint64_t address, uint64_t *entries, size_t count)
{
	off_t at = (off_t)(address / PAGE_BYTES * sizeof(*entries));
	ssize_t got = pread(fd, entries, count * sizeof(*entries), at);
	return got < 0 ? 0 : (size_t)got / sizeof(*entries);
}

/*
 * Without the pages that were never written: reading them would map the zero
 * page there, and they hold nothing but zeros, which *heads is made of.
 */
static int
read_heads(const struct region_view *view, const struct region_table *table,
	   region_offset *heads)
{
	uint64_t at = table->offset_bytes;
	uint64_t end = at + table->capacity * sizeof(*heads);
	int fd = open_pagemap(view), status = 0;
	while (at < end && !status) {
		uint64_t address = address_of(view, at), entry;
		uint64_t part = PAGE_BYTES - at % PAGE_BYTES;
		if (part > end - at)
			part = end - at;
		if (fd < 0 || !read_pagemap(fd, address, &entry, 1) ||
		    entry & PAGE_IS_USED)
			status = read_object(view, at,
					     (char *)heads +
						     (at - table->offset_bytes),
					     part);
		at += part;
	}
	if (fd >= 0)
		close(fd);
	return status;
}

struct walk {
	const struct region_view *view;
	void (*visit)(void *context, const struct bucket *bucket);
	void *context;
	uint64_t left; /* objects that may still be met */
};

static int
take(struct walk *walk, uint64_t offset, void *to, size_t size_bytes)
{
	if (walk->left-- == 0)
		return -EPROTO;
	return read_object(walk->view, offset, to, size_bytes);
}

static int
walk_stack(struct walk *walk, region_offset at, const struct stack *stack)
{
	region_offset next = stack->buckets;
	int status = 0;
	while (next && !status) {
		struct bucket bucket;
		status = take(walk, (uint64_t)next * REGION_UNIT, &bucket,
			      sizeof(bucket));
		/* Links back: else this is laid out in another way. */
		if (!status && bucket.stack != at)
			status = -EPROTO;
		if (!status)
			walk->visit(walk->context, &bucket);
		next = bucket.next;
	}
	return status;
}

static int
walk_chain(struct walk *walk, region_offset at)
{
	int status = 0;
	while (at && !status) {
		struct stack stack;
		status = take(walk, (uint64_t)at * REGION_UNIT, &stack,
			      sizeof(stack));
		if (!status)
			status = walk_stack(walk, at, &stack);
		at = stack.next;
	}
	return status;
}

int
region_view_buckets(const struct region_view *view,
		    void (*visit)(void *context, const struct bucket *bucket),
		    void *context)
{
	const struct region_table *table = find_table(view, "stack_heads");
	struct walk walk = {
		.view = view,
		.visit = visit,
		.context = context,
		.left = view->header.size_bytes / sizeof(struct stack) + 1,
	};
	if (!table || table->stride_bytes != sizeof(region_offset) ||
	    table->capacity > view->header.size_bytes / sizeof(region_offset))
		return -EPROTO;
	region_offset *heads = memory_get(table->capacity * sizeof(*heads) + 1);
	int status = read_heads(view, table, heads);
	for (uint32_t i = 0; i < table->capacity && !status; i++)
		status = walk_chain(&walk, heads[i]);
	free(heads);
	return status;
}

/* Pages of [address, address + count pages) in memory or swapped out. */
static uint64_t
used_pages(int fd, uint64_t address, uint64_t count)
{
	static uint64_t pages[REGION_SEGMENT_BYTES / PAGE_BYTES];
	uint64_t used = 0;
	size_t got = read_pagemap(fd, address, pages, count);
	for (size_t i = 0; i < got; i++)
		used += (pages[i] & PAGE_IS_USED) != 0;
	return used;
}

uint64_t
region_view_resident_bytes(const struct region_view *view)
{
	uint64_t end = view->header.used_bytes / PAGE_BYTES + 1, used = 0;
	int fd = open_pagemap(view);
	if (fd < 0)
		return 0;
	for (size_t i = 0; i < segment_count(view); i++) {
		uint64_t first = (i << REGION_SEGMENT_BITS) / PAGE_BYTES;
		uint64_t count = REGION_SEGMENT_BYTES / PAGE_BYTES;
		if (first >= end)
			break;
		if (count > end - first)
			count = end - first;
		uint64_t address = address_of(view, i << REGION_SEGMENT_BITS);
		if (address)
			used += used_pages(fd, address, count);
	}
	close(fd);
	return used * PAGE_BYTES;
}
