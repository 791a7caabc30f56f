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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "memory.h"

#define PAGE_BYTES 4096
/* proc_pid_pagemap(5): in memory, or swapped out. */
#define PAGE_IS_USED (UINT64_C(3) << 62)
#define PAGES_AT_A_TIME 8192

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

/* An object within what the region has handed out. */
static int
read_object(const struct region_view *view, uint64_t offset, void *to,
	    size_t size_bytes)
{
	if (offset > view->header.size_bytes ||
	    size_bytes > view->header.size_bytes - offset)
		return -EPROTO;
	return read_at(view->pid, view->base + offset, to, size_bytes);
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
	    header->size_bytes > end - start ||
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
	return status == -ENOENT ? search(view, false) : status;
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
		uint64_t address = view->base + at, entry;
		uint64_t part = PAGE_BYTES - address % PAGE_BYTES;
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

uint64_t
region_view_resident_bytes(const struct region_view *view)
{
	static uint64_t pages[PAGES_AT_A_TIME];
	uint64_t count = view->header.used_bytes / PAGE_BYTES + 1, used = 0;
	int fd = open_pagemap(view);
	if (fd < 0)
		return 0;
	for (uint64_t done = 0; done < count;) {
		uint64_t wanted = count - done;
		if (wanted > PAGES_AT_A_TIME)
			wanted = PAGES_AT_A_TIME;
		size_t got = read_pagemap(fd, view->base + done * PAGE_BYTES,
					  pages, wanted);
		for (size_t i = 0; i < got; i++)
			used += (pages[i] & PAGE_IS_USED) != 0;
		done += got;
		if (!got)
			break;
	}
	close(fd);
	return used * PAGE_BYTES;
}
