/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operators.c - operator new and delete, in libheapagent-cxx.so alone.
 *
 * Where the next one is the C++ runtime's it arrives in malloc and so in our
 * hook: it is jumped to and nothing is counted. Where it lies in the file that
 * serves malloc (jemalloc, tcmalloc, mimalloc) it does not: it is counted as
 * malloc is. Which of the two is decided once, by a pointer for each form that
 * starts out at its resolver, so the call tests nothing.
 *
 * An exception of the next one passes through: hooks are left by a jump, and
 * the frame of a sampled call has call frame information and nothing to clean.
 * docs/decisions/0012 says why this is a library of its own.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "atomics.h"
#include "compiler.h"
#include "hook.h"
#include "live.h"
#include "loader.h"
#include "real.h"
#include "symbol.h"
#include "tracker.h"

/*
 * X(name, symbol, parameters, arguments, instead); the C++ ABI's names
 * (Itanium). `instead` is what stands in for a form that no file has: a C
 * program that asks by a weak reference whether there is operator new finds
 * ours. As the C++ runtime's own defaults, all end at the plain forms, ours,
 * or in malloc, aligned_alloc and free.
 */
#define NEWS(X) \
	X(new_one, "_Znwm", (size_t size), (size), malloc(size)) \
	X(new_array, "_Znam", (size_t size), (size), new_one(size)) \
	X(new_one_nothrow, "_ZnwmRKSt9nothrow_t", \
	  (size_t size, const void *n), (size, n), new_one(size)) \
	X(new_array_nothrow, "_ZnamRKSt9nothrow_t", \
	  (size_t size, const void *n), (size, n), new_one(size)) \
	X(new_one_aligned, "_ZnwmSt11align_val_t", (size_t size, size_t a), \
	  (size, a), aligned_alloc(a, size)) \
	X(new_array_aligned, "_ZnamSt11align_val_t", (size_t size, size_t a), \
	  (size, a), aligned_alloc(a, size)) \
	X(new_one_aligned_nothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t", \
	  (size_t size, size_t a, const void *n), (size, a, n), \
	  aligned_alloc(a, size)) \
	X(new_array_aligned_nothrow, "_ZnamSt11align_val_tRKSt9nothrow_t", \
	  (size_t size, size_t a, const void *n), (size, a, n), \
	  aligned_alloc(a, size))
#define DELETES(X) \
	X(delete_one, "_ZdlPv", (void *p), (p), free(p)) \
	X(delete_array, "_ZdaPv", (void *p), (p), delete_one(p)) \
	X(delete_one_sized, "_ZdlPvm", (void *p, size_t size), (p, size), \
	  delete_one(p)) \
	X(delete_array_sized, "_ZdaPvm", (void *p, size_t size), (p, size), \
	  delete_array(p)) \
	X(delete_one_nothrow, "_ZdlPvRKSt9nothrow_t", \
	  (void *p, const void *n), (p, n), delete_one(p)) \
	X(delete_array_nothrow, "_ZdaPvRKSt9nothrow_t", \
	  (void *p, const void *n), (p, n), delete_array(p)) \
	X(delete_one_aligned, "_ZdlPvSt11align_val_t", (void *p, size_t a), \
	  (p, a), free(p)) \
	X(delete_array_aligned, "_ZdaPvSt11align_val_t", (void *p, size_t a), \
	  (p, a), delete_one_aligned(p, a)) \
	X(delete_one_sized_aligned, "_ZdlPvmSt11align_val_t", \
	  (void *p, size_t size, size_t a), (p, size, a), \
	  delete_one_aligned(p, a)) \
	X(delete_array_sized_aligned, "_ZdaPvmSt11align_val_t", \
	  (void *p, size_t size, size_t a), (p, size, a), \
	  delete_one_aligned(p, a)) \
	X(delete_one_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", \
	  (void *p, size_t a, const void *n), (p, a, n), \
	  delete_one_aligned(p, a)) \
	X(delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t", \
	  (void *p, size_t a, const void *n), (p, a, n), \
	  delete_one_aligned(p, a))

static void resolve(void);

/*
 * Read-mostly; atomic: what each hook jumps to, and the next one behind. Both
 * start out at the resolver, so that a thread which sees the first and not yet
 * the second resolves, too.
 */
struct operators {
#define MEMBER_NEW(name, symbol, parameters, arguments, instead) \
	void *(*name)parameters;
#define MEMBER_DELETE(name, symbol, parameters, arguments, instead) \
	void(*name) parameters;
	NEWS(MEMBER_NEW)
	DELETES(MEMBER_DELETE)
};
static struct operators served, next;

#define DEFINE_NEW(name, symbol, parameters, arguments, instead) \
	EXPORT void *name parameters __asm__(symbol); \
	static COLD void *name##_slow parameters \
	{ \
		bool due = tracker_due(size); \
		void *p = next.name arguments; \
		tracker_allocated(p, size, HOOK_FRAME, due); \
		return p; \
	} \
	static void *name##_counted parameters \
	{ \
		if (hook_countdown(size)) \
			return name##_slow arguments; \
		return next.name arguments; \
	} \
	static void *name##_first parameters \
	{ \
		resolve(); \
		return served.name arguments; \
	} \
	static void *name##_instead parameters \
	{ \
		return instead; \
	} \
	EXPORT void *name parameters \
	{ \
		return served.name arguments; \
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
NEWS(DEFINE_NEW)

#define DEFINE_DELETE(name, symbol, parameters, arguments, instead) \
	EXPORT void name parameters __asm__(symbol); \
	static COLD void name##_slow parameters \
	{ \
		struct live_block block; \
		if (tracker_detach(p, &block)) \
			tracker_freed(&block); \
		next.name arguments; \
	} \
	static void name##_counted parameters \
	{ \
		if (live_maybe(p)) \
			name##_slow arguments; \
		else \
			next.name arguments; \
	} \
	static void name##_first parameters \
	{ \
		resolve(); \
		served.name arguments; \
	} \
	static void name##_instead parameters \
	{ \
		instead; \
	} \
	EXPORT void name parameters \
	{ \
		served.name arguments; \
	}
DELETES(DEFINE_DELETE)
#pragma GCC diagnostic pop

#define INITIAL(name, symbol, parameters, arguments, instead) \
	.name = name##_first,
static READ_MOSTLY struct operators served = { NEWS(INITIAL) DELETES(INITIAL) };
static READ_MOSTLY struct operators next = { NEWS(INITIAL) DELETES(INITIAL) };

/* True if the function lies in the file that serves malloc. */
static bool
is_allocators(const void *function)
{
	struct loader_object object;
	uintptr_t next_malloc = (uintptr_t)real.malloc;

	return loader_find((uintptr_t)function, &object) &&
	       next_malloc >= object.map_start && next_malloc < object.map_end;
}

/* Immutable after construct(): operator new was there at the start. */
static bool there_at_start;

/*
 * The next one; NULL: none. What plugins bring along for themselves is taken
 * of one file alone, as one's delete does not know the blocks of another's new.
 */
static void *
next_operator(const char *symbol)
{
	void *plain = symbol_search_next("_Znwm");
	void *found = symbol_search_next(symbol);
	struct loader_object object;

	if (there_at_start || found == NULL)
		return found;
	return loader_find((uintptr_t)plain, &object) &&
			       (uintptr_t)found >= object.map_start &&
			       (uintptr_t)found < object.map_end
		       ? found
		       : NULL;
}

static void
resolve(void)
{
	if (!atomic_load_relaxed(&real_known))
		real_resolve();
		/* Relaxed, all: whoever else resolves writes the same values.
		 */
#define RESOLVE(name, symbol, parameters, arguments, instead) \
	{ \
		__typeof__(next.name) found = \
			(__typeof__(next.name))next_operator(symbol); \
		if (found == NULL) \
			found = name##_instead; \
		atomic_store_relaxed(&next.name, found); \
		atomic_store_relaxed(&served.name, \
				     is_allocators((void *)found) \
					     ? name##_counted \
					     : found); \
	}
	NEWS(RESOLVE)
	DELETES(RESOLVE)
}

/* Files of the start never go, and any of them may have some of the forms. */
static __attribute__((constructor)) void
construct(void)
{
	if (symbol_search_next("_Znwm") == NULL)
		return;
	there_at_start = true;
	resolve();
}

void
operators_closed(void)
{
	struct loader_object object;

	/*
	 * Relaxed: who calls operator new beside the end of the library that
	 * it comes from is lost without us as well.
	 */
#define FORGET(name, symbol, parameters, arguments, instead) \
	if (!loader_find((uintptr_t)atomic_load_relaxed(&next.name), \
			 &object)) { \
		atomic_store_relaxed(&served.name, name##_first); \
		atomic_store_relaxed(&next.name, name##_first); \
	}
	NEWS(FORGET)
	DELETES(FORGET)
}
