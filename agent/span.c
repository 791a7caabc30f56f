/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span.c - finds the readable part of a stack by asking for its pages.
 *
 * Pages are asked for upwards from the stack pointer only: everything above
 * it belongs to frames that are in use, while a question below it could make
 * the kernel grow the main thread's stack (mm/memory.c grows it for a system
 * call's access as well). Nothing here is shared: a span belongs to one
 * thread, or to the walk that uses it.
 */
#include "span.h"

#include <string.h>
#include <sys/auxv.h>

#include "compiler.h"
#include "sys.h"

/* Every kernel and loader here uses 4 KiB pages (x86-64). */
#define PAGE_BYTES ((uintptr_t)4096)

/*
 * Farther below its high end than this, a stack pointer is on some other
 * stack. Threads have 8 MiB by default and rarely more; the main thread's
 * limit is the user's `ulimit -s`.
 */
#define THREAD_STACK_MAX ((uintptr_t)64 << 20)
#define MAIN_STACK_MAX ((uintptr_t)1 << 30)

/*
 * The most that one call asks for, to bound its time: 4096 questions of about
 * 0.1 us. A stack that grew by more than this since it was last looked at is
 * walked as a foreign one, page by page as far as the walk goes.
 */
#define OWN_GROWTH_MAX ((uintptr_t)16 << 20)
#define FOREIGN_GROWTH_MAX ((uintptr_t)1 << 20)

/* Immutable after span_init(). */
static uintptr_t main_thread_pointer;
static uintptr_t main_stack_high;

static uintptr_t
page_of(uintptr_t address)
{
	return address & ~(PAGE_BYTES - 1);
}

void
span_init(void)
{
	/*
	 * The kernel puts the name of the executed file above the arguments
	 * and the environment, with eight zero bytes after it (fs/exec.c): its
	 * last page is the stack's last page.
	 */
	uintptr_t name = getauxval(AT_EXECFN);

	if (name != 0)
		name += strlen((const char *)name);
	main_thread_pointer = arch_thread_pointer();
	main_stack_high = name ? page_of(name) + PAGE_BYTES : 0;
}

/* The end of the thread's own stack if sp can be on it, else 0. */
static uintptr_t
own_high(uintptr_t sp, uintptr_t thread_pointer)
{
	uintptr_t high = thread_pointer, most = THREAD_STACK_MAX;

	if (thread_pointer == main_thread_pointer) {
		high = main_stack_high;
		most = MAIN_STACK_MAX;
	}
	/* An sp at or above high wraps to a huge distance. */
	return high - sp - 1 < most ? high : 0;
}

/* Asks for the pages from sp's up to end; true if all can be read. */
static bool
pages_readable(uintptr_t sp, uintptr_t end)
{
	for (uintptr_t page = page_of(sp); page < end; page += PAGE_BYTES)
		if (!sys_readable(page))
			return false;
	return true;
}

static bool
own_extend(struct span *own, uintptr_t sp, uintptr_t high)
{
	if (own->high != high) {
		own->low = high;
		own->high = high;
	}
	if (own->low - sp > OWN_GROWTH_MAX || !pages_readable(sp, own->low))
		return false;
	own->low = page_of(sp);
	return true;
}

bool
span_own(struct span *own, uintptr_t sp, uintptr_t thread_pointer)
{
	uintptr_t high;

	if (likely(sp - own->low < own->high - own->low))
		return true;
	high = thread_pointer ? own_high(sp, thread_pointer) : 0;
	return high != 0 && own_extend(own, sp, high);
}

bool
span_enter(struct span *walk, struct span *own, uintptr_t sp,
	   uintptr_t thread_pointer)
{
	if (span_own(own, sp, thread_pointer)) {
		*walk = *own;
		return true;
	}
	if (!sys_readable(sp))
		return false;
	walk->low = page_of(sp);
	walk->high = walk->low + PAGE_BYTES;
	return true;
}

bool
span_grow(struct span *walk, uintptr_t address)
{
	if (address < walk->low ||
	    address - walk->low > walk->high - walk->low + FOREIGN_GROWTH_MAX)
		return false;
	/* A thread's own stack ends at its control block, within a page. */
	if (walk->high != page_of(walk->high))
		return span_holds(walk, address);
	while (!span_holds(walk, address)) {
		if (!sys_readable(walk->high))
			return false;
		walk->high += PAGE_BYTES;
	}
	return true;
}
