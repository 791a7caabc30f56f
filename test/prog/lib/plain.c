/* SPDX-License-Identifier: Apache-2.0 */
/* plain.c - a library that allocates: opened and closed again and again. */
#include <stdlib.h>

void *plain_take(size_t size);

void *
plain_take(size_t size)
{
	void *volatile p = malloc(size);

	return p;
}

/* Allocates under the loader's lock. */
static __attribute__((constructor)) void
construct(void)
{
	free(plain_take(77));
}
