/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span.h - which part of a stack may be read.
 *
 * A walk reads only within a span: a range of addresses that were seen to be
 * readable. Two kinds of stack are told apart. A thread's own stack lies below
 * its thread control block (the main thread's: below the arguments), stays
 * mapped while the thread lives, and its span is kept from sample to sample
 * and grows downwards as the stack does. Any other (a coroutine's, an
 * alternate signal stack) may be unmapped between two samples, so its span
 * starts empty in every walk and grows upwards page by page as it is read.
 * A page is asked for with sys_readable(): one system call, no descriptor, no
 * lock, no pthread_getattr_np.
 */
#ifndef HEAPAGENT_SPAN_H
#define HEAPAGENT_SPAN_H

#include <stdbool.h>
#include <stdint.h>

struct span {
	uintptr_t low; /* [low, high) is readable; empty when low == high */
	uintptr_t high;
};

/* Records the end of the main thread's stack and its thread. [init] */
void span_init(void);

/*
 * True if sp is on the own stack of the thread with that thread pointer (0:
 * unknown), as far as its pages tell; *own, as below, then holds it. [any]
 */
bool span_own(struct span *own, uintptr_t sp, uintptr_t thread_pointer);

/*
 * Makes *walk readable at sp for a thread with the given thread pointer (0:
 * unknown, treat the stack as foreign). *own is that thread's remembered span
 * ({0, 0} at first), and is extended if sp is on the thread's own stack;
 * *walk is then a copy of it. False if sp itself cannot be read. [any]
 */
bool span_enter(struct span *walk, struct span *own, uintptr_t sp,
		uintptr_t thread_pointer);

/*
 * Grows a foreign walk upwards until [address, address + 8) is in it, at most
 * 1 MiB at a time. False if that meets a page that cannot be read. The fast
 * question, address within span, is span_holds(). [any]
 */
bool span_grow(struct span *walk, uintptr_t address);

/* True if the 8 bytes at address are within the span. */
static inline bool
span_holds(const struct span *span, uintptr_t address)
{
	/* One comparison: an address below low wraps to a huge number. */
	return address - span->low < span->high - span->low &&
	       span->high - address >= 8;
}

#endif
