/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twin.c - a library that the test builds twice over under other names (it
 * copies the file and alters the build-id), so that both have one layout.
 */
#include <stdlib.h>

void *twin_take(size_t size);

void *
twin_take(size_t size)
{
	void *volatile p = malloc(size);

	return p;
}
