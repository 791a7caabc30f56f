/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bump.c - an allocator that a process may be killed in, whose memory another
 * goes on with: one atomic addition, and nothing is ever given back.
 */
#include <stdlib.h>
#include <string.h>

#define BYTES ((size_t)1 << 30)

static char memory[BYTES] __attribute__((aligned(64)));
static size_t used;

void *
malloc(size_t size)
{
	size_t need = (size + 16 + 63) & ~(size_t)63;
	size_t at = __atomic_fetch_add(&used, need, __ATOMIC_RELAXED);

	if (need < size || at > BYTES - need)
		return NULL;
	memcpy(memory + at, &size, sizeof(size));
	return memory + at + 16;
}

void
free(void *p)
{
	(void)p;
}

void *
calloc(size_t count, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL
							   : malloc(bytes);
}

void *
realloc(void *p, size_t size)
{
	void *q = malloc(size);
	size_t old;

	if (q != NULL && p != NULL) {
		memcpy(&old, (char *)p - 16, sizeof(old));
		memcpy(q, p, old < size ? old : size);
	}
	return q;
}
