/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.h - the sampled blocks that are in use: address → size, weight, bucket.
 *
 * In front of the table stands the filter (live_filter.h), which a free of an
 * unsampled block looks at, and hardly any more.
 *
 * An address is in the table at most once. The program itself orders the
 * operations on one address: it is inserted before malloc returns it and
 * removed before the real free gets it. Everything is lock-free; nothing of
 * it is slower after any number of insertions and removals.
 */
#ifndef HEAPAGENT_LIVE_H
#define HEAPAGENT_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live_filter.h"
#include "region.h"

struct live_block {
	uint64_t size_bytes;
	/* Objects that the sample stands for, as sampler_weight() gives them */
	uint64_t weight;
	region_offset bucket;
};

/* Makes the table in the region. 0 or -ENOMEM. [init] */
int live_init(void);

/* Enters a block. False if there is no free slot (counted). [hook] */
bool live_insert(const void *p, const struct live_block *block);

/* Takes a block out. False if it is not there. [hook] */
bool live_remove(const void *p, struct live_block *block);

/*
 * Calls visit for every block; stops and returns visit's result when that is
 * not 0. Exact only while nothing is inserted or removed. [any]
 */
int live_each(int (*visit)(void *context, uintptr_t address,
			   const struct live_block *block),
	      void *context);

#endif
