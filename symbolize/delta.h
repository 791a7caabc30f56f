/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delta.h - the allocations between two dumps of one process.
 */
#ifndef HEAPAGENT_DELTA_H
#define HEAPAGENT_DELTA_H

#include "profile.h"

/*
 * Makes after the profile of what was allocated since before: alloc_objects
 * and alloc_space alone, from before's time on, with the duration between. 0,
 * or -EINVAL if the two are not such dumps (after is spoilt then).
 */
int delta_make(const struct profile *before, struct profile *after,
	       struct reason *reason);

#endif
