/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span.h - which part of a stack may be read.
 *
 * Two kinds of stack are told apart. A thread's own has bounds that are known
 * without a question to the kernel: the main thread's lies below the arguments
 * as far as its limit allows, where the kernel maps nothing else; of any other
 * thread glibc keeps the bounds in the thread's control block. Both stay as
 * they are while the thread lives. All other stacks are foreign (a
 * coroutine's, an alternate signal stack, any at all if the control block is
 * not what we know): they may go between two samples, so nothing is remembered
 * of them, and each page of them that a walk reads is asked for first with
 * sys_readable(): one system call, no descriptor, no lock.
 */
#ifndef HEAPAGENT_SPAN_H
#define HEAPAGENT_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every kernel and loader here uses 4 KiB pages (x86-64). */
#define SPAN_PAGE_BYTES ((uintptr_t)4096)

struct span {
	uintptr_t low; /* [low, high); empty when low == high */
	uintptr_t high;
};

/* Records the main thread and the bounds of its stack. [init] */
void span_init(void);

/*
 * True if address is on the own stack of the thread with that thread pointer
 * (0: unknown). *own is that thread's remembered span ({0, 0} at first), and
 * holds the bounds of its stack afterwards, or nothing where they are not
 * known. The kernel is asked for another thread's control block only. [any]
 */
bool span_own(struct span *own, uintptr_t address, uintptr_t thread_pointer);

/*
 * True if a foreign stack seems to have size_bytes (a page at most) of room
 * below address, which is on it: if what is there can be read. [any]
 */
bool span_has_room(uintptr_t address, size_t size_bytes);

/*
 * Makes a span of the pages of a foreign stack that hold [address, end), which
 * are known to be readable. [any]
 */
void span_of_pages(struct span *walk, uintptr_t address, uintptr_t end);

/*
 * Makes the 8 bytes at address part of a foreign walk, which may lose its
 * other pages by that. False if they cannot be read, or are more than 1 MiB
 * away. The fast question is span_holds(). [any]
 */
bool span_reach(struct span *walk, uintptr_t address);

/* True if the 8 bytes at address are within the span. */
static inline bool
span_holds(const struct span *span, uintptr_t address)
{
	/* One comparison: an address below low wraps to a huge number. */
	return address - span->low < span->high - span->low &&
	       span->high - address >= 8;
}

#endif
