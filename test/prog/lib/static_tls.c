/* SPDX-License-Identifier: Apache-2.0 */
/* static_tls.c - a library with 64 bytes of static thread-local memory. */
/* CFLAGS: -ftls-model=initial-exec */
#include <string.h>

static __thread char memory[64] __attribute__((aligned(64)));

int tls_touch(int mark);

int
tls_touch(int mark)
{
	int before = memory[63];
	char *volatile p = memory;

	memset(p, mark, sizeof(memory));
	return before;
}
