/* SPDX-License-Identifier: Apache-2.0 */
/*
 * not_found.h - files that were wanted and not there: said once for each cause.
 */
#ifndef HEAPAGENT_NOT_FOUND_H
#define HEAPAGENT_NOT_FOUND_H

#include <stddef.h>

/* Of an object that has no names, or not all it could have. */
enum {
	FOUND = 0,
	NOT_IN_SYSROOT = 1,
	/* Else what a debuginfod server came to, a negative errno. */
};

#define NOT_FOUND_CAUSES 8

struct not_found {
	struct {
		int cause;
		const char *first; /* file */
		size_t count;
	} causes[NOT_FOUND_CAUSES];
	size_t count;
};

void not_found_add(struct not_found *not_found, int cause, const char *file);

/* One line on standard error for each cause. sysroot may be NULL. */
void not_found_say(const struct not_found *not_found, const char *sysroot);

#endif
