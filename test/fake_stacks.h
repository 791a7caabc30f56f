/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_stacks.h - buckets for tests of heap_profile.c, in place of
 * agent/stacks.c: they are what the test says.
 */
#ifndef HEAPAGENT_TEST_FAKE_STACKS_H
#define HEAPAGENT_TEST_FAKE_STACKS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stacks.h"

static struct fake_bucket {
	struct stack *stack;
	struct bucket bucket;
} * fake_buckets;
static unsigned fake_bucket_count;
/* What stacks_each() goes through: more, if buckets are made meanwhile. */
static unsigned fake_bucket_more;

unsigned
stacks_bucket_count(void)
{
	return fake_bucket_count;
}

int
stacks_each(int (*visit)(void *context, const struct stack *stack,
			 const struct bucket *bucket),
	    void *context)
{
	for (unsigned i = 0; i < fake_bucket_count + fake_bucket_more; i++) {
		struct fake_bucket *fake = &fake_buckets[i];
		int r = visit(context, fake->stack, &fake->bucket);

		if (r != 0)
			return r;
	}
	return 0;
}

static inline struct bucket *
fake_bucket(const uint64_t *frames, unsigned count, uint64_t first_bytes)
{
	size_t bytes = count * sizeof(*frames);
	struct fake_bucket *fake;

	/* Aligned as the structure asks, which realloc() does not do. */
	if (fake_buckets == NULL)
		fake_buckets = aligned_alloc(64, sizeof(*fake) << 16);
	fake = &fake_buckets[fake_bucket_count++];
	memset(fake, 0, sizeof(*fake));
	fake->stack = calloc(1, sizeof(*fake->stack) + bytes);
	fake->stack->frame_count = count;
	for (unsigned i = 0; i < count; i++)
		fake->stack->hash = (fake->stack->hash ^ frames[i]) *
				    UINT64_C(0x9e3779b97f4a7c15);
	memcpy(fake->stack->frames, frames, bytes);
	fake->bucket.first_bytes = first_bytes;
	return &fake->bucket;
}

/* Counts one sample as the tracker does, its weight from the definition. */
static inline void
fake_count(struct tally *tally, uint64_t size_bytes, uint64_t rate_bytes)
{
	double size = (double)(size_bytes == 0 ? 1 : size_bytes);
	double weight =
		rate_bytes <= 1 ? 1 : 1 / -expm1(-size / (double)rate_bytes);

	tally->objects++;
	tally->bytes += size_bytes;
	tally->weighted_objects +=
		(uint64_t)(weight * (1 << TALLY_OBJECT_BITS) + 0.5);
	tally->weighted_bytes += (uint64_t)(weight * (double)size_bytes *
						    (1 << TALLY_BYTE_BITS) +
					    0.5);
}

static inline void
fake_forget(void)
{
	for (unsigned i = 0; i < fake_bucket_count + fake_bucket_more; i++)
		free(fake_buckets[i].stack);
	fake_bucket_count = 0;
	fake_bucket_more = 0;
}

#endif
