/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real.c - looks up the real functions; see real.h.
 *
 * dlsym may itself allocate (an error message's buffer, in some versions of
 * glibc). What is asked for meanwhile by the same thread comes from a small
 * arena that is never given back. free and realloc must then know its blocks;
 * they go through a check of the address from that moment on, and cost nothing
 * where the arena stays unused, which is everywhere we know of.
 *
 * What a libc does not have yet (reallocarray before glibc 2.26), ours make of
 * what it has.
 */
#include "real.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "atomics.h"
#include "compiler.h"
#include "log.h"
#include "symbol.h"
#include "thread.h"

#define BOOT_BYTES ((size_t)64 << 10)
#define BOOT_ALIGN 16

/* Each block is preceded by its size, for realloc. */
static char boot_arena[BOOT_BYTES] __attribute__((aligned(BOOT_ALIGN)));
static size_t boot_used; /* atomic */

/* Atomic: the next allocator's own, when ours stand in front of them. */
static void (*next_free)(void *p);
static void *(*next_realloc)(void *p, size_t size);

static void *
boot_alloc(size_t size)
{
	size_t need = ALIGN_UP(size, (size_t)BOOT_ALIGN) + BOOT_ALIGN;
	size_t start;

	if (size > BOOT_BYTES)
		return NULL;
	/* Relaxed: the block is its taker's alone. */
	start = atomic_add_relaxed(&boot_used, need);
	if (start + need > BOOT_BYTES)
		return NULL;
	memcpy(boot_arena + start, &size, sizeof(size));
	return boot_arena + start + BOOT_ALIGN;
}

static bool
is_boot(const void *p)
{
	return (uintptr_t)p - (uintptr_t)boot_arena < BOOT_BYTES;
}

static size_t
boot_size(const void *p)
{
	size_t size;

	memcpy(&size, (const char *)p - BOOT_ALIGN, sizeof(size));
	return size;
}

/*
 * Another thread may have put checked_free() in place, and ours see that
 * before it sees next_free (relaxed, both): then it looks for itself.
 */
static void
checked_free(void *p)
{
	if (is_boot(p))
		return;
	if (unlikely(atomic_load_relaxed(&next_free) == NULL))
		real_resolve();
	next_free(p);
}

static void *
checked_realloc(void *p, size_t size)
{
	void *copy;

	if (unlikely(atomic_load_relaxed(&next_realloc) == NULL))
		real_resolve();
	if (!is_boot(p))
		return next_realloc(p, size);
	copy = next_realloc(NULL, size);
	if (copy != NULL)
		memcpy(copy, p, MIN(boot_size(p), size));
	return copy;
}

/*
 * What serves a thread while it looks the functions up: the arena, and no
 * memory from the rarer entry points, which dlsym has no use for.
 */
static void *
boot_malloc(size_t size)
{
	return boot_alloc(size);
}

static void *
boot_calloc(size_t count, size_t size)
{
	size_t bytes;

	/* The arena is zero from the start and never used twice. */
	return __builtin_mul_overflow(count, size, &bytes) ? NULL
							   : boot_alloc(bytes);
}

static void *
boot_realloc(void *p, size_t size)
{
	void *copy = boot_alloc(size);

	if (copy != NULL && p != NULL)
		memcpy(copy, p, MIN(size, boot_size(p)));
	return copy;
}

#define boot_reallocarray(p, count, size) NULL
#define boot_posix_memalign(p, alignment, size) ENOMEM
#define boot_aligned_alloc(alignment, size) NULL
#define boot_memalign(alignment, size) NULL
#define boot_valloc(size) NULL
#define boot_pvalloc(size) NULL
#define boot_dlclose(handle) (-1)

/* The resolvers, one for each function: what the pointers start out at. */
#define REAL_RESOLVER(type, name, parameters, arguments) \
	static type first_##name parameters \
	{ \
		if (thread_self.inside != 0) \
			return boot_##name arguments; \
		real_resolve(); \
		return real.name arguments; \
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
REAL_FUNCTIONS(REAL_RESOLVER)
#pragma GCC diagnostic pop

static void
first_free(void *p)
{
	if (is_boot(p))
		return;
	real_resolve();
	real.free(p);
}

READ_MOSTLY struct real_functions real = {
#define REAL_INITIAL(type, name, parameters, arguments) .name = first_##name,
	REAL_FUNCTIONS(REAL_INITIAL)
#undef REAL_INITIAL
		.free = first_free,
};

static void *
missing_reallocarray(void *p, size_t count, size_t size)
{
	size_t bytes;

	if (!__builtin_mul_overflow(count, size, &bytes))
		return real.realloc(p, bytes);
	errno = ENOMEM;
	return NULL;
}

/* musl has none, so nobody there calls ours: nothing to be made. */
static void *
missing_pvalloc(UNUSED size_t size)
{
	errno = ENOMEM;
	return NULL;
}

/*
 * Before glibc 2.34 dlclose is in libdl. What calls ours in a program without
 * it was opened by libc itself (an NSS or iconv module) and brought it along.
 */
static int
missing_dlclose(void *handle)
{
	int (*found)(void *) = (int (*)(void *))symbol_search_next("dlclose");

	return found != NULL ? found(handle) : -1;
}

/* In place of a function that this libc does not have; NULL: all have it. */
static void *
substitute(const char *name)
{
	if (strcmp(name, "reallocarray") == 0)
		return (void *)missing_reallocarray;
	if (strcmp(name, "pvalloc") == 0)
		return (void *)missing_pvalloc;
	if (strcmp(name, "dlclose") == 0)
		return (void *)missing_dlclose;
	return NULL;
}

/* The function of that name behind ours. */
static void *
next_function(const char *name)
{
	void *found = symbol_next(name);

	if (found == NULL)
		found = substitute(name);
	if (found == NULL) {
		log_warn("no %s behind the agent's in this program", name);
		__builtin_trap();
	}
	return found;
}

bool real_known;

void
real_resolve(void)
{
	int saved = errno;

	thread_self.inside = 1;
	/* Relaxed, all: whoever else resolves writes the same values. */
	atomic_store_relaxed(&next_free,
			     (void (*)(void *))next_function("free"));
	atomic_store_relaxed(&next_realloc,
			     (void *(*)(void *, size_t))next_function(
				     "realloc"));
#define REAL_LOOK_UP(type, name, parameters, arguments) \
	atomic_store_relaxed(&real.name, \
			     (type(*) parameters)next_function(#name));
	REAL_FUNCTIONS(REAL_LOOK_UP)
#undef REAL_LOOK_UP
	if (atomic_load_relaxed(&boot_used) != 0) {
		atomic_store_relaxed(&real.realloc, checked_realloc);
		atomic_store_relaxed(&real.free, checked_free);
	} else {
		atomic_store_relaxed(&real.free, next_free);
	}
	thread_self.inside = 0;
	/* Relaxed: who does not see it resolves again, to the same values. */
	atomic_store_relaxed(&real_known, true);
	if (real_first_use != NULL)
		real_first_use();
	errno = saved;
}
