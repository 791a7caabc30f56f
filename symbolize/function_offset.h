/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_offset.h - how far into its function a location of a profile is.
 */
#ifndef HEAPAGENT_FUNCTION_OFFSET_H
#define HEAPAGENT_FUNCTION_OFFSET_H

#include "locate.h"
#include "profile.h"

/*
 * Looks at all locations with names, in their files; *lost counts the files
 * that could not be read.
 */
struct function_offset *function_offset_new(const struct profile *profile,
					    const struct locate_options *locate,
					    size_t *lost);
void function_offset_free(struct function_offset *offsets);

/* False if the file is not there, or names nothing at the address. */
bool function_offset_find(const struct function_offset *offsets,
			  const struct pb_location *location, uint64_t *offset);

#endif
