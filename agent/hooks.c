/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.c - the exported functions: malloc and its family, and dlclose.
 *
 * A call that is not sampled touches nothing shared: an allocation subtracts
 * its size from the thread's countdown, a free reads one counter of the live
 * table's filter, and both jump to the real function. The rest is in the
 * *_slow functions, which are reached by a jump as well, so that each one's
 * frame lies right under the program's, which is where the walk begins.
 *
 * Whether an allocation is sampled is decided before the real call, which may
 * run code of the program's (a new_handler, a signal's), not return, or fail:
 * the thread's countdown is then in order. It is recorded after the call.
 *
 * A block is taken out of the live table before the real free: afterwards
 * another thread may already have the address. errno is the real functions'.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "compiler.h"
#include "hook.h"
#include "live.h"
#include "modules.h"
#include "real.h"
#include "tracker.h"

/* The hook of a function that allocates size bytes, and its slow half. */
#define ALLOCATING_HOOK(name, parameters, arguments) \
	static COLD void *name##_slow parameters \
	{ \
		bool due = tracker_due(size); \
		void *p = real.name arguments; \
		tracker_allocated(p, size, HOOK_FRAME, due); \
		return p; \
	} \
	EXPORT void *name parameters \
	{ \
		if (hook_countdown(size)) \
			return name##_slow arguments; \
		return real.name arguments; \
	}

ALLOCATING_HOOK(malloc, (size_t size), (size))
ALLOCATING_HOOK(valloc, (size_t size), (size))
ALLOCATING_HOOK(pvalloc, (size_t size), (size))
ALLOCATING_HOOK(memalign, (size_t alignment, size_t size), (alignment, size))
ALLOCATING_HOOK(aligned_alloc, (size_t alignment, size_t size),
		(alignment, size))

static COLD void
free_slow(void *p)
{
	struct live_block block;

	if (tracker_detach(p, &block))
		tracker_freed(&block);
	real.free(p);
}

EXPORT void
free(void *p)
{
	if (live_maybe(p))
		free_slow(p);
	else
		real.free(p);
}

static COLD void *
calloc_slow(size_t count, size_t size)
{
	bool due = tracker_due(count * size);
	void *p = real.calloc(count, size);

	tracker_allocated(p, count * size, HOOK_FRAME, due);
	return p;
}

EXPORT void *
calloc(size_t count, size_t size)
{
	size_t bytes;

	/* What overflows fails for certain: it is not counted. */
	if (likely(!__builtin_mul_overflow(count, size, &bytes)) &&
	    hook_countdown(bytes))
		return calloc_slow(count, size);
	return real.calloc(count, size);
}

static COLD void *
realloc_slow(void *p, size_t size)
{
	bool due = tracker_due(size);
	void *q = real.realloc(p, size);

	tracker_allocated(q, size, HOOK_FRAME, due);
	return q;
}

/*
 * A realloc of what may be a sampled block, or to a size of 0. NULL for a
 * size of 0 means that the block was freed (glibc); otherwise that the call
 * failed and the block still stands.
 */
static COLD void *
realloc_detach_slow(void *p, size_t size)
{
	struct live_block block;
	bool sampled = tracker_detach(p, &block);
	bool due = hook_countdown(size) && tracker_due(size);
	void *q = real.realloc(p, size);

	if (sampled && q == NULL && size != 0)
		tracker_attach(p, &block);
	else if (sampled)
		tracker_freed(&block);
	tracker_allocated(q, size, HOOK_FRAME, due);
	return q;
}

EXPORT void *
realloc(void *p, size_t size)
{
	if (live_maybe(p) || unlikely(size == 0))
		return realloc_detach_slow(p, size);
	if (hook_countdown(size))
		return realloc_slow(p, size);
	return real.realloc(p, size);
}

EXPORT void *
reallocarray(void *p, size_t count, size_t size)
{
	size_t bytes;

	/* The real one fails in its own way; some call realloc, our hook. */
	if (unlikely(__builtin_mul_overflow(count, size, &bytes) ||
		     bytes > PTRDIFF_MAX))
		return real.reallocarray(p, count, size);
	return realloc(p, bytes);
}

static COLD int
posix_memalign_slow(void **p, size_t alignment, size_t size)
{
	bool due = tracker_due(size);
	int error = real.posix_memalign(p, alignment, size);

	tracker_allocated(error == 0 ? *p : NULL, size, HOOK_FRAME, due);
	return error;
}

EXPORT int
posix_memalign(void **p, size_t alignment, size_t size)
{
	if (hook_countdown(size))
		return posix_memalign_slow(p, alignment, size);
	return real.posix_memalign(p, alignment, size);
}

EXPORT int
dlclose(void *handle)
{
	int result;

	modules_close_begin();
	result = real.dlclose(handle);
	modules_close_end();
	if (operators_closed != NULL)
		operators_closed();
	return result;
}
