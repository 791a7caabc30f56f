/* SPDX-License-Identifier: Apache-2.0 */
/*
 * similar.h - the word that was meant, where one was mistyped.
 */
#ifndef HEAPAGENT_SIMILAR_H
#define HEAPAGENT_SIMILAR_H

#include <stddef.h>

struct similar {
	const char *typed;
	size_t bytes;
	const char *nearest; /* of those added; NULL: none is near */
	size_t distance;     /* of nearest; at first, what is too far */
};

struct similar similar_to(const char *typed, size_t bytes);
void similar_add(struct similar *similar, const char *word);

#endif
