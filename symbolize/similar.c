/* SPDX-License-Identifier: Apache-2.0 */
/*
 * similar.c - the word that was meant, where one was mistyped.
 *
 * By the number of letters that are wrong, missing, too many or exchanged with
 * the next one: one in words of up to five letters, two in longer ones.
 */
#include "similar.h"

#include <string.h>

#define WORD_MAX 32

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t
distance(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	/* Of the first i letters of a to the first k of b. */
	size_t d[WORD_MAX + 1][WORD_MAX + 1];
	for (size_t i = 0; i <= a_bytes; i++)
		d[i][0] = i;
	for (size_t k = 0; k <= b_bytes; k++)
		d[0][k] = k;
	for (size_t i = 1; i <= a_bytes; i++)
		for (size_t k = 1; k <= b_bytes; k++) {
			d[i][k] =
				least(least(d[i - 1][k], d[i][k - 1]) + 1,
				      d[i - 1][k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] &&
			    a[i - 2] == b[k - 1])
				d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
		}
	return d[a_bytes][b_bytes];
}

struct similar
similar_to(const char *typed, size_t bytes)
{
	return (struct similar){
		.typed = typed,
		.bytes = bytes,
		.distance = bytes < 2	? 0
			    : bytes < 6 ? 2
					: 3,
	};
}

void
similar_add(struct similar *similar, const char *word)
{
	size_t bytes = strlen(word);
	if (bytes > WORD_MAX || similar->bytes > WORD_MAX)
		return;
	size_t found = distance(similar->typed, similar->bytes, word, bytes);
	if (found >= similar->distance)
		return;
	similar->distance = found;
	similar->nearest = word;
}
