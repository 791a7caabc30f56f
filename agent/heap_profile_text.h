/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_profile_text.h - the meaning of the heap and allocs profiles as legacy
 * text: what was counted, as it was counted.
 *
 * The figures are those of the samples alone; a reader makes estimates of them
 * with the rate in the first line, for each line by its mean block size. So
 * its estimates differ from those of the other format by as much as the blocks
 * of one size class differ in the curvature of 1 / (1 - exp(-size / rate)).
 */
#ifndef HEAPAGENT_HEAP_PROFILE_TEXT_H
#define HEAPAGENT_HEAP_PROFILE_TEXT_H

#include "heap_profile.h"
#include "text_profile.h"

/* The first line, with the sums, and a line for each row. [dump] */
void heap_profile_text_write(struct text_profile *profile,
			     const struct heap_rows *rows, uint64_t rate_bytes);

#endif
