/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact.c - allocates in every way there is, counts its own live bytes and
 * objects, asks for a dump of itself and prints what it counted:
 *
 *	inuse_objects inuse_space alloc_objects alloc_space
 *
 * after as many steps as the argument says. With one more argument it leaves
 * out realloc(p, 0), which only glibc has as a free, and pvalloc(), which other
 * allocators leave to glibc, whose blocks they cannot free. No stdio, whose
 *buffer would be one more block.
 */
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS 3000

static struct {
	void *p;
	size_t size;
} slots[SLOTS];

static uint64_t allocated_objects, allocated_bytes;
/* Volatile, since compilers warn of what we mean to do. */
static volatile size_t too_much = (size_t)PTRDIFF_MAX + 1;
/* Leaves out what only glibc has: see above. */
static bool plain;
static uint64_t random_state = 12345;

static unsigned
random_below(unsigned n)
{
	random_state =
		random_state * 6364136223846793005U + 1442695040888963407U;
	return (unsigned)(random_state >> 33) % n;
}

static void *
allocate(size_t size)
{
	void *p = NULL;

	switch (random_below(9)) {
	case 0:
		return calloc(1, size);
	case 1:
		return aligned_alloc(64, size);
	case 2:
		return memalign(4096, size);
	case 3:
		return posix_memalign(&p, 32, size) == 0 ? p : NULL;
	case 4:
		return realloc(NULL, size);
	case 5:
		return reallocarray(NULL, 1, size);
	case 6:
		return size < 3000 ? valloc(size) : malloc(size);
	case 7:
		return size < 3000 && !plain ? pvalloc(size) : malloc(size);
	default:
		return malloc(size);
	}
}

static void
step(void)
{
	unsigned i = random_below(SLOTS);
	size_t size =
		random_below(4) == 0 ? random_below(100000) : random_below(500);
	void *p;

	if (slots[i].p != NULL && random_below(3) == 0) {
		/* A realloc that fails leaves everything as it was. */
		p = realloc(slots[i].p, too_much);
		if (p != NULL)
			abort();
		size += 1; /* realloc(p, 0) is a free */
		p = realloc(slots[i].p, size);
	} else {
		free(slots[i].p);
		p = allocate(size);
	}
	if (p == NULL)
		abort();
	slots[i].p = p;
	slots[i].size = size;
	allocated_objects++;
	allocated_bytes += size;
}

int
main(int argc, char **argv)
{
	uint64_t live_objects = 0, live_bytes = 0;
	char line[128];
	int n;

	plain = argc > 2;
	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 100000); i++)
		step();
	for (unsigned i = 0; i < SLOTS; i++) {
		if (!plain && i % 7 == 0 && slots[i].p != NULL) {
			/* The other way of freeing. */
			if (realloc(slots[i].p, 0) != NULL)
				abort();
			slots[i].p = NULL;
		}
		live_objects += slots[i].p != NULL;
		live_bytes += slots[i].p != NULL ? slots[i].size : 0;
	}
	kill(getpid(), SIGUSR2);
	n = snprintf(line, sizeof(line), "%lu %lu %lu %lu\n", live_objects,
		     live_bytes, allocated_objects, allocated_bytes);
	return write(1, line, (size_t)n) == n ? 0 : 1;
}
