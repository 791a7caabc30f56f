/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame_page.h - the page of a flame graph, around its data.
 *
 * flame.html is part of the program; what stands before and after the mark
 * @@DATA@@ in it comes here as two texts.
 */
#ifndef HEAPAGENT_FLAME_PAGE_H
#define HEAPAGENT_FLAME_PAGE_H

#include <stddef.h>

struct flame_page {
	const char *before;
	size_t before_bytes;
	const char *after;
	size_t after_bytes;
};

struct flame_page flame_page(void);

#endif
