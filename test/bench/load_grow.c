/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_grow.c - buffers that grow by realloc, by half or by a page at a time,
 * from a few bytes to a few megabytes, several of them interleaved.
 */
#include <stdlib.h>
#include <string.h>

#include "random.h"

#define BUFFERS 16
#define SIZE_MAX_BYTES ((size_t)2 << 20)
#define STEPS 60000

int
main(void)
{
	static struct {
		char *data;
		size_t size;
	} buffers[BUFFERS];
	uint64_t random = 1;

	for (int i = 0; i < STEPS; i++) {
		uint32_t n = random_below(&random, BUFFERS);
		size_t old = buffers[n].size;
		size_t new = n % 2 ? old + old / 2 + 16 : old + 4096;

		if (new > SIZE_MAX_BYTES) {
			free(buffers[n].data);
			buffers[n].data = NULL;
			old = 0;
			new = 16;
		}
		buffers[n].data = realloc(buffers[n].data, new);
		memset(buffers[n].data + old, i, new - old);
		buffers[n].size = new;
	}
	return 0;
}
