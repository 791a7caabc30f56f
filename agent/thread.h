/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - what the agent keeps for each thread, in thread-local memory.
 *
 * Initial-exec TLS, so that reaching it is one load and allocates nothing; no
 * destructor, so a free after the thread's teardown finds it intact. All zero
 * is the state of a new thread, which the first slow path sets up. Used by its
 * own thread only; a signal handler of that thread may interrupt at any
 * instruction.
 */
#ifndef HEAPAGENT_THREAD_H
#define HEAPAGENT_THREAD_H

#include <stdint.h>

#include "compiler.h"
#include "span.h"

struct thread {
	/* Bytes until the next sample; what every allocation subtracts from. */
	uint64_t countdown_bytes;
	uintptr_t noted; /* the last block that a slow path gave out */
	uint64_t random; /* generator state; 0: the thread is new */
	struct span own; /* see span.h */
	/* Not 0 while the thread takes a sample: the frame's place, or 1 */
	uint32_t inside;
	uint32_t sampling; /* the sampler's epoch it was set up under */
};
_Static_assert(sizeof(struct thread) <= 64, "static TLS is scarce");

extern HIDDEN __thread struct thread thread_self;

#endif
