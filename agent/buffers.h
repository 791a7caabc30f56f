/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffers.h - the memory that a walk of the stack works in: a few KiB, which
 * small stacks do not have, so walks take a buffer of the region.
 *
 * A thread that the kernel puts aside within its walk keeps its buffer, so as
 * many are needed as threads can be at it, not as there are processors. They
 * are made when one is wanted and none is free, never given back, and may take
 * an eighth of the region.
 */
#ifndef HEAPAGENT_BUFFERS_H
#define HEAPAGENT_BUFFERS_H

#include <stdint.h>

#include "region.h"
#include "unwind.h"

struct sample_buffer {
	uint32_t taken;	    /* atomic; guards scratch and frames */
	region_offset next; /* immutable after publish */
	struct unwind_scratch scratch;
	uint64_t frames[]; /* HEAPAGENT_DEPTH of them */
};

/* Makes the lists in the region. 0 or -ENOMEM. [init] */
int buffers_init(void);

/*
 * A buffer for the thread with that thread pointer; NULL if there is none and
 * no room for one more (counted). Lock-free. [any]
 */
struct sample_buffer *buffers_take(uintptr_t thread_pointer);
void buffers_give(struct sample_buffer *buffer);

/* In a forked child: what other threads held is free again. [any] */
void buffers_fork_child(void);

#endif
