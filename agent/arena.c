/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - a dump's working memory; see arena.h. */
#include "arena.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include "compiler.h"
#include "sys.h"

/* What becomes memory at a time. */
#define STEP_BYTES ((size_t)256 << 10)

/* The second number of a line such as "VmSize:    1234 kB", in bytes. */
static uint64_t
status_bytes(const char *status, const char *name)
{
	const char *at = strstr(status, name);
	uint64_t kib = 0;

	if (at == NULL)
		return 0;
	at += strlen(name);
	at += strspn(at, " \t");
	for (; *at >= '0' && *at <= '9'; at++)
		kib = kib * 10 + (uint64_t)(*at - '0');
	return kib << 10;
}

/* Half of what a limit leaves; no limit, or nothing known: all there is. */
static size_t
half_of_rest(int which, const char *name)
{
	struct rlimit limit;
	char status[4096];
	uint64_t now;

	if (sys_failed(sys_call4(SYS_prlimit64, 0, which, NULL, &limit)) ||
	    limit.rlim_cur == RLIM_INFINITY ||
	    sys_read_file("/proc/self/status", status, sizeof(status)) <= 0)
		return SIZE_MAX;
	now = status_bytes(status, name);
	return limit.rlim_cur > now ? (limit.rlim_cur - now) / 2 : 0;
}

int
arena_open(struct arena *arena, size_t size_bytes)
{
	*arena = (struct arena){ .base = NULL };
	size_bytes = ALIGN_UP(size_bytes, (size_t)4096);
	if (size_bytes > half_of_rest(RLIMIT_AS, "VmSize:"))
		return -ENOMEM;
	arena->base = sys_reserve(size_bytes);
	if (arena->base == NULL)
		return -ENOMEM;
	arena->size_bytes = size_bytes;
	arena->data_bytes = half_of_rest(RLIMIT_DATA, "VmData:");
	return 0;
}

/* True if so much of the arena is memory. */
static bool
provide(struct arena *arena, size_t used_bytes)
{
	size_t wanted =
		MIN(ALIGN_UP(used_bytes, STEP_BYTES), arena->size_bytes);
	size_t committed = arena->committed_bytes;

	if (wanted <= committed)
		return true;
	if (wanted > arena->data_bytes ||
	    !sys_commit(arena->base + committed, wanted - committed))
		return false;
	arena->committed_bytes = wanted;
	return true;
}

void *
arena_alloc(struct arena *arena, size_t size_bytes)
{
	size_t rounded = ALIGN_UP(size_bytes, (size_t)CACHE_LINE);
	void *memory;

	if (rounded < size_bytes ||
	    rounded > arena->size_bytes - arena->used_bytes ||
	    !provide(arena, arena->used_bytes + rounded))
		return NULL;
	memory = arena->base + arena->used_bytes;
	arena->used_bytes += rounded;
	return memory;
}

void
arena_rewind(struct arena *arena, size_t used_bytes)
{
	/* Cleared here, so that arena_alloc() may promise zeroes. */
	memset(arena->base + used_bytes, 0, arena->used_bytes - used_bytes);
	arena->used_bytes = used_bytes;
}

void
arena_close(struct arena *arena)
{
	char *base = arena->base;

	/*
	 * Forgotten first: a process that is forked between the two must not
	 * unmap what may be there by then.
	 */
	arena->base = NULL;
	if (base != NULL)
		sys_unmap(base, arena->size_bytes);
}
