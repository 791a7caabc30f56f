/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffers.c - lists of sample buffers that only grow; see buffers.h.
 *
 *	heads[hash of the thread]──►buffer──►buffer──►0
 *
 * A thread looks through the list that its control block hashes to, so that
 * threads seldom meet at one buffer, then makes one, then looks through the
 * others. With 64 lists and 1,000 threads in their walks all at a time, a list
 * is 16 long.
 */
#include "buffers.h"

#include <errno.h>
#include <stddef.h>

#include "atomics.h"
#include "compiler.h"
#include "config.h"
#include "counters.h"

#define LISTS 64
#define LISTS_BITS 6
#define REGION_SHARE 8

/* Immutable after buffers_init(). */
static region_offset *heads; /* each atomic */
static size_t buffer_bytes;
static uint32_t most;

/* Atomic; how many there are, or are just being made. */
static uint32_t made;

int
buffers_init(void)
{
	heads = region_table("sample_buffers", sizeof(*heads), LISTS,
			     CACHE_LINE);
	if (heads == NULL)
		return -ENOMEM;
	buffer_bytes = ALIGN_UP(sizeof(struct sample_buffer) +
					config.depth_frames * sizeof(uint64_t),
				(size_t)CACHE_LINE);
	most = (uint32_t)(region_header()->size_bytes / REGION_SHARE /
			  buffer_bytes);
	return 0;
}

static struct sample_buffer *
find(const region_offset *head)
{
	/* Acquire: pairs with the release in make(), for `next`. */
	region_offset at = atomic_load_acquire(head);

	while (at != 0) {
		struct sample_buffer *buffer = region_at(at);
		uint32_t expected = 0;

		/*
		 * Acquire: pairs with the release in buffers_give(). Read
		 * first, so that a list of taken ones is not written to.
		 */
		if (atomic_load_relaxed(&buffer->taken) == 0 &&
		    atomic_cas_acquire(&buffer->taken, &expected, 1))
			return buffer;
		at = buffer->next;
	}
	return NULL;
}

/* One more buffer, taken; NULL if there may be no more. */
static COLD struct sample_buffer *
make(region_offset *head)
{
	struct sample_buffer *buffer = NULL;

	/* Relaxed: a limit, which nothing else is ordered by. */
	if (atomic_add_relaxed(&made, 1) < most)
		buffer = region_alloc(buffer_bytes, CACHE_LINE);
	if (buffer == NULL) {
		atomic_sub_relaxed(&made, 1);
		return NULL;
	}
	buffer->taken = 1;
	buffer->next = atomic_load_relaxed(head);
	/* Release: whoever finds the buffer finds it taken, and its next. */
	while (!atomic_cas_release(head, &buffer->next,
				   region_offset_of(buffer)))
		continue;
	return buffer;
}

struct sample_buffer *
buffers_take(uintptr_t thread_pointer)
{
	/* Control blocks are pages apart, at distances of any pattern. */
	uint64_t hash = (thread_pointer >> 12) * UINT64_C(0x9e3779b97f4a7c15);
	unsigned own = (unsigned)(hash >> (64 - LISTS_BITS));
	struct sample_buffer *buffer = find(&heads[own]);

	if (unlikely(buffer == NULL))
		buffer = make(&heads[own]);
	for (unsigned i = 1; unlikely(buffer == NULL) && i < LISTS; i++)
		buffer = find(&heads[(own + i) % LISTS]);
	if (unlikely(buffer == NULL))
		counter_add(COUNTER_samples_dropped_busy);
	return buffer;
}

void
buffers_give(struct sample_buffer *buffer)
{
	/* Release: our use of the buffer is over before another's begins. */
	atomic_store_release(&buffer->taken, 0);
}

void
buffers_fork_child(void)
{
	for (unsigned i = 0; i < LISTS; i++) {
		region_offset at = atomic_load_relaxed(&heads[i]);

		while (at != 0) {
			struct sample_buffer *buffer = region_at(at);

			atomic_store_relaxed(&buffer->taken, 0);
			at = buffer->next;
		}
	}
}
