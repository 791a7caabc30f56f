/* SPDX-License-Identifier: Apache-2.0 */
/* tls.c - a library with 4 KiB of thread-local memory, reached dynamically. */
/* CFLAGS: -ftls-model=global-dynamic */
#include <stdlib.h>
#include <string.h>

#define BYTES 4096

static __thread char memory[BYTES];

/* What the thread left there, which is 0 at first; then marks it. */
int tls_touch(int mark);

int
tls_touch(int mark)
{
	int before = memory[BYTES - 1];
	char *volatile p = memory;
	void *volatile block = malloc(64);

	memset(p, mark, BYTES);
	free(block);
	return before;
}
