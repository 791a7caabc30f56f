/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_stack.h - a stack between two pages without access, so that a read past
 * its end is a fault.
 */
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE_BYTES ((size_t)4096)

static char *
map_stack(size_t size_bytes)
{
	char *area = mmap(NULL, size_bytes + 2 * PAGE_BYTES, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED ||
	    mprotect(area + PAGE_BYTES, size_bytes, PROT_READ | PROT_WRITE))
		abort();
	return area + PAGE_BYTES;
}
