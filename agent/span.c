/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span.c - knows a thread's own stack, and asks for the pages of any other.
 *
 * Nothing here is shared but what span_init() sets: a span belongs to one
 * thread, or to the walk that uses it.
 */
#include "span.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "compiler.h"
#include "sys.h"

#define PAGE_BYTES SPAN_PAGE_BYTES

/* Of a main stack without a limit: so much of it may be its thread's own. */
#define MAIN_STACK_MAX ((uintptr_t)1 << 30)

/*
 * glibc's struct pthread, which lies at the thread pointer, has had this size
 * at least since 2.4; the words in question are in its second half, at 0x690
 * in glibc 2.36.
 */
#define CONTROL_BYTES 0x900
#define CONTROL_SKIPPED_BYTES 0x300
/* From the thread pointer to the end of the stack: the block, and alignment. */
#define CONTROL_END_MAX ((uintptr_t)64 << 10)
/* PTHREAD_STACK_MIN. */
#define STACK_MIN ((uintptr_t)16 << 10)

/* No frame is larger, and what leads farther is no frame pointer. */
#define REACH_MAX ((uintptr_t)1 << 20)

/* Immutable after span_init(). */
static uintptr_t main_thread_pointer;
static struct span main_stack;

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
	uintptr_t name = getauxval(AT_EXECFN), most = MAIN_STACK_MAX;
	struct rlimit limit;

	/*
	 * The limit of now, which is that of the exec: so much address space
	 * below the stack's end is free of other mappings (mmap_base(),
	 * arch/x86/mm/mmap.c). A limit that is raised later makes what lies
	 * deeper a foreign stack.
	 */
	if (!sys_failed(
		    sys_call4(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit)))
		most = MIN(most, page_of(limit.rlim_cur));
	main_thread_pointer = arch_thread_pointer();
	if (name == 0)
		return;
	main_stack.high =
		page_of(name + strlen((const char *)name)) + PAGE_BYTES;
	main_stack.low = main_stack.high - MIN(most, main_stack.high);
}

/*
 * True if the four words are what glibc writes side by side when it makes a
 * thread: where its stack's memory starts, how long that is with the control
 * block at its end, how much of its start is a guard, and how much was asked
 * for.
 */
static bool
are_bounds(const uintptr_t *words, uintptr_t thread_pointer)
{
	uintptr_t start = words[0], size = words[1], guard = words[2];
	uintptr_t below = thread_pointer - start;

	return start != 0 && start < thread_pointer && size >= STACK_MIN &&
	       size >= below && size - below >= CONTROL_BYTES &&
	       size - below <= CONTROL_END_MAX && guard % PAGE_BYTES == 0 &&
	       guard < below && words[3] <= guard;
}

/* Reads the bounds from a control block; *own stays empty if it has none. */
static COLD void
read_control_block(struct span *own, uintptr_t thread_pointer)
{
	const uintptr_t *words = (const uintptr_t *)thread_pointer;
	unsigned found = 0;

	own->low = thread_pointer;
	own->high = thread_pointer;
	if (thread_pointer % sizeof(*words) != 0)
		return;
	if (thread_pointer != arch_thread_pointer() &&
	    (!sys_readable(thread_pointer) ||
	     !sys_readable(thread_pointer + CONTROL_BYTES - sizeof(*words))))
		return;
	for (unsigned i = CONTROL_SKIPPED_BYTES / sizeof(*words);
	     i <= CONTROL_BYTES / sizeof(*words) - 4; i++) {
		if (!are_bounds(&words[i], thread_pointer))
			continue;
		own->low = words[i] + words[i + 2];
		found++;
	}
	/* Two would mean that we do not know which. */
	if (found != 1)
		own->low = thread_pointer;
}

bool
span_own(struct span *own, uintptr_t address, uintptr_t thread_pointer)
{
	uintptr_t high = thread_pointer;

	if (likely(address - own->low < own->high - own->low))
		return true;
	if (thread_pointer == main_thread_pointer)
		high = main_stack.high;
	if (own->high == high)
		return false;
	if (thread_pointer == main_thread_pointer)
		*own = main_stack;
	else
		read_control_block(own, thread_pointer);
	return address - own->low < own->high - own->low;
}

bool
span_has_room(uintptr_t address, size_t size_bytes)
{
	uintptr_t lowest = address - size_bytes;

	return address > size_bytes &&
	       (page_of(lowest) == page_of(address) || sys_readable(lowest));
}

void
span_of_pages(struct span *walk, uintptr_t address, uintptr_t end)
{
	walk->low = page_of(address);
	walk->high = page_of(end - 1) + PAGE_BYTES;
}

/* Takes in one page, and keeps the others if it lies next to them. */
static bool
take_in(struct span *walk, uintptr_t page)
{
	if (page - walk->low < walk->high - walk->low)
		return true;
	if (!sys_readable(page))
		return false;
	if (page == walk->high)
		walk->high += PAGE_BYTES;
	else if (page + PAGE_BYTES == walk->low)
		walk->low = page;
	else
		span_of_pages(walk, page, page + PAGE_BYTES);
	return true;
}

bool
span_reach(struct span *walk, uintptr_t address)
{
	/* An address that is too low wraps to a huge distance. */
	if (address - (walk->low - REACH_MAX) >
		    walk->high - walk->low + 2 * REACH_MAX ||
	    address > UINTPTR_MAX - 8)
		return false;
	return take_in(walk, page_of(address)) &&
	       take_in(walk, page_of(address + 7));
}
