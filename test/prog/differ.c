/* SPDX-License-Identifier: Apache-2.0 */
/*
 * differ.c - calls every entry point of the allocator with ordinary, absurd
 * and contradictory arguments, as the seed (the first argument) says, and
 * prints what came of each call, so that two runs can be compared by diff:
 *
 *	STEP CALL ARGUMENTS: RESULT errno=E low=BITS at=OFFSET usable=BYTES
 *
 * The result is NULL or not; low is the address within its page; at is the
 * offset in the heap (0 for memory that was mapped), which only says the same
 * twice without address randomisation. The contents of each block are checked
 * on the way (exit status 1). The second argument is the number of steps; a
 * third, "portable", leaves out what allocators may differ in from run to run.
 */
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS 200
#define CHECKED_BYTES ((size_t)1 << 16)

struct slot {
	unsigned char *p;
	size_t size;
	unsigned char fill;
};

static struct slot slots[SLOTS];
static uint64_t state;
static char *heap_begin;
static bool portable;
static unsigned step;
static char out[1 << 16];
static size_t out_used;

static const size_t odd_sizes[] = {
	0,
	1,
	24,
	25,
	4095,
	4096,
	4097,
	(128 << 10) - 24,
	128 << 10,
	(128 << 10) + 1,
	1 << 20,
	(size_t)1 << 46,
	(size_t)PTRDIFF_MAX - 4096,
	PTRDIFF_MAX,
	(size_t)PTRDIFF_MAX + 1,
	SIZE_MAX - 4096,
	SIZE_MAX - 16,
	SIZE_MAX,
};
static const size_t odd_alignments[] = {
	0,
	1,
	2,
	3,
	4,
	7,
	8,
	16,
	24,
	32,
	64,
	100,
	4096,
	8192,
	1 << 20,
	(size_t)1 << 46,
	SIZE_MAX / 2 + 1,
	SIZE_MAX / 2 + 2,
	SIZE_MAX,
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static unsigned
below(unsigned n)
{
	state = state * 6364136223846793005U + 1442695040888963407U;
	return (unsigned)(state >> 33) % n;
}

static size_t
some_size(void)
{
	switch (below(8)) {
	case 0:
		return odd_sizes[below(COUNT(odd_sizes))];
	case 1:
		return below(300000);
	default:
		return below(600);
	}
}

static size_t
some_alignment(void)
{
	return below(3) ? (size_t)1 << below(13)
			: odd_alignments[below(COUNT(odd_alignments))];
}

static void
flush_out(void)
{
	if (write(1, out, out_used) != (ssize_t)out_used)
		_exit(3);
	out_used = 0;
}

static void
die(const char *why)
{
	flush_out();
	dprintf(2, "step %u: %s\n", step, why);
	_exit(1);
}

static void
check(const struct slot *slot, size_t size)
{
	for (size_t i = 0; i < size && i < CHECKED_BYTES; i++)
		if (slot->p[i] != slot->fill)
			die("contents changed");
}

/*
 * The alignment last asked for. Above a page's, how much of a mapped block can
 * be used depends on where it came to lie, which any library moves.
 */
static size_t alignment_now;

/* What can be told of a block, on the line that has been begun. */
static void
describe(const void *p, int error)
{
	bool in_heap = (const char *)p >= heap_begin &&
		       (const char *)p < (char *)sbrk(0);
	size_t usable = in_heap || alignment_now <= 4096
				? malloc_usable_size((void *)(uintptr_t)p)
				: 0;
	int n;

	if (p == NULL)
		n = sprintf(out + out_used, "NULL errno=%d\n", error);
	else if (portable)
		n = sprintf(out + out_used, "block errno=%d low=%#lx\n", error,
			    (uintptr_t)p & 15);
	else
		n = sprintf(out + out_used,
			    "block errno=%d low=%#lx at=%#lx usable=%zu\n",
			    error, (uintptr_t)p & 4095,
			    in_heap ? (uintptr_t)((const char *)p - heap_begin)
				    : 0,
			    usable);
	out_used += (size_t)n;
	if (out_used > sizeof(out) - 4096)
		flush_out();
}

static void
begin(const char *call, size_t a, size_t b)
{
	alignment_now = 0;
	out_used += (size_t)sprintf(out + out_used, "%u %s %#zx %#zx: ", step,
				    call, a, b);
}

/* The slot takes a new block. */
static void
take(struct slot *slot, void *p, size_t size, int error)
{
	describe(p, error);
	slot->p = p;
	slot->size = p == NULL ? 0 : size;
	slot->fill = (unsigned char)below(256);
	if (p != NULL)
		memset(p, slot->fill,
		       size < CHECKED_BYTES ? size : CHECKED_BYTES);
}

static void
release(struct slot *slot)
{
	check(slot, slot->size);
	errno = 77;
	free(slot->p);
	if (errno != 77 && !portable)
		die("free changed errno");
	slot->p = NULL;
	slot->size = 0;
}

static void
call_realloc(struct slot *slot)
{
	size_t size = some_size(), kept, count = 1;
	bool array = below(2);
	void *p;

	check(slot, slot->size);
	if (array && size % 3 == 0) {
		count = 3;
		size /= 3;
	} else if (array && below(8) == 0) {
		count = SIZE_MAX / 2;
	}
	begin(array ? "reallocarray" : "realloc", count, size);
	errno = 77;
	p = array ? reallocarray(slot->p, count, size) : realloc(slot->p, size);
	kept = slot->size < count * size ? slot->size : count * size;
	if (p != NULL) {
		slot->p = p;
		check(slot, kept);
		take(slot, p, count * size, errno);
		return;
	}
	describe(NULL, errno);
	if (count * size == 0 && slot->p != NULL) {
		slot->p = NULL; /* glibc has freed it */
		slot->size = 0;
	} else if (slot->p != NULL && size != 0) {
		check(slot, slot->size); /* it failed, and the block stands */
	}
}

static void
call_calloc(struct slot *slot)
{
	size_t count = below(8) ? below(5) : some_size(), size = some_size();
	unsigned char *p;
	int error;

	begin("calloc", count, size);
	errno = 77;
	p = calloc(count, size);
	error = errno;
	for (size_t i = 0; p != NULL && i < count * size && i < 1 << 22; i++)
		if (p[i] != 0)
			die("calloc's memory is not zero");
	take(slot, p, count * size, error);
}

static void
call_posix_memalign(struct slot *slot)
{
	size_t alignment = some_alignment(), size = some_size();
	void *p = &state;
	int result;

	begin("posix_memalign", alignment, size);
	alignment_now = alignment;
	errno = 77;
	result = posix_memalign(&p, alignment, size);
	if (errno != 77 && !portable)
		die("posix_memalign set errno");
	if (result != 0 && p != &state)
		die("posix_memalign failed and stored a pointer");
	if (result == 0 && alignment != 0 && (uintptr_t)p % alignment != 0)
		die("posix_memalign did not align");
	take(slot, result == 0 ? p : NULL, size, result);
}

static void
call_aligned(struct slot *slot, unsigned which)
{
	static const char *const names[] = { "aligned_alloc", "memalign",
					     "valloc", "pvalloc" };
	size_t alignment = some_alignment(), size = some_size();
	void *p;

	begin(names[which], alignment, size);
	alignment_now = alignment;
	errno = 77;
	switch (which) {
	case 0:
		p = aligned_alloc(alignment, size);
		break;
	case 1:
		p = memalign(alignment, size);
		break;
	case 2:
		p = valloc(size);
		break;
	default:
		p = pvalloc(size);
	}
	take(slot, p, size, errno);
}

static void
take_step(void)
{
	struct slot *slot = &slots[below(SLOTS)];
	unsigned what = below(11);
	size_t size;
	void *p;

	if (what < 2) {
		call_realloc(slot);
		return;
	}
	release(slot);
	switch (what) {
	case 2:
		call_calloc(slot);
		break;
	case 3:
		call_posix_memalign(slot);
		break;
	case 4 ... 7:
		/* pvalloc() is often left to glibc: no other frees its blocks.
		 */
		call_aligned(slot, portable ? (what - 4) % 3 : what - 4);
		break;
	case 8:
		break; /* stays free */
	default:
		size = some_size();
		begin("malloc", size, 0);
		errno = 77;
		p = malloc(size);
		take(slot, p, size, errno);
	}
}

int
main(int argc, char **argv)
{
	unsigned steps = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;

	state = argc > 1 ? (uint64_t)atoi(argv[1]) : 1;
	portable = argc > 3 && strcmp(argv[3], "portable") == 0;
	heap_begin = sbrk(0);
	/* Not to be moved by the blocks that come: see alignment_now. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	for (step = 0; step < steps; step++)
		take_step();
	for (unsigned i = 0; i < SLOTS; i++)
		release(&slots[i]);
	flush_out();
	return 0;
}
