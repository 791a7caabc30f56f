/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.c - a hash table of chains that only grow; see stacks.h.
 *
 * Load factor: a stack of 20 frames with two buckets takes 420 bytes, so a
 * region can hold about size / 512 of them; with one head for each KiB of the
 * region, chains are two long on average when the region is full. Heads take
 * 1/256 of the region and are touched only where a stack hashes to them.
 */
#include "stacks.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "atomics.h"
#include "counters.h"

#define REGION_BYTES_PER_HEAD 1024
#define HEADS_MIN 1024

/* Immutable after stacks_init(). */
static region_offset *heads; /* each atomic */
static uint32_t head_count;  /* a power of two */

/* Atomic. */
static CACHE_ALIGNED uint32_t bucket_count;

int
stacks_init(void)
{
	uint64_t want = region_header()->size_bytes / REGION_BYTES_PER_HEAD;

	head_count = HEADS_MIN;
	while (head_count < want && head_count < UINT32_C(1) << 30)
		head_count *= 2;
	heads = region_table("stack_heads", sizeof(*heads), head_count,
			     CACHE_LINE);
	return heads == NULL ? -ENOMEM : 0;
}

unsigned
stacks_size_class(uint64_t size_bytes)
{
	unsigned log;

	if (size_bytes < 4)
		return (unsigned)size_bytes;
	log = 63 - (unsigned)__builtin_clzll(size_bytes);
	/* The two bits below the highest choose among four classes. */
	return log * 4 + (unsigned)(size_bytes >> (log - 2) & 3);
}

/* A multiplicative hash over whole words; the fold keeps the high bits. */
static uint64_t
hash_frames(const uint64_t *frames, unsigned count)
{
	uint64_t hash = count;

	for (unsigned i = 0; i < count; i++) {
		hash = (hash ^ frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return hash;
}

static bool
same_stack(const struct stack *stack, uint64_t hash, const uint64_t *frames,
	   unsigned count)
{
	return stack->hash == hash && stack->frame_count == count &&
	       memcmp(stack->frames, frames, count * sizeof(*frames)) == 0;
}

/*
 * The lines of a stack, and of its first bucket, which is often behind it: of
 * many stacks each is far away, and so they come together, not in turn.
 */
static void
fetch(const struct stack *stack, unsigned count)
{
	const char *at = (const char *)stack;
	const char *end =
		(const char *)&stack->frames[count] + sizeof(struct bucket);

	for (at += CACHE_LINE; at < end; at += CACHE_LINE)
		__builtin_prefetch(at);
}

/* The stack of the chain from `from` up to, not including, `until`; or 0. */
static region_offset
find_stack(region_offset from, region_offset until, uint64_t hash,
	   const uint64_t *frames, unsigned count)
{
	for (region_offset at = from; at != until;) {
		struct stack *stack = region_at(at);

		fetch(stack, count);
		if (same_stack(stack, hash, frames, count))
			return at;
		at = stack->next;
	}
	return 0;
}

static struct stack *
make_stack(uint64_t hash, const uint64_t *frames, unsigned count)
{
	size_t frames_bytes = count * sizeof(*frames);
	struct stack *stack =
		region_alloc(sizeof(*stack) + frames_bytes, REGION_UNIT);

	if (stack == NULL)
		return NULL;
	stack->hash = hash;
	stack->frame_count = count;
	memcpy(stack->frames, frames, frames_bytes);
	return stack;
}

static region_offset
stack_of(const uint64_t *frames, unsigned count)
{
	uint64_t hash = hash_frames(frames, count);
	region_offset *head = &heads[hash & (head_count - 1)];
	/*
	 * Acquire: pairs with the release below, so that whoever sees a
	 * stack's offset sees its contents.
	 */
	region_offset first = atomic_load_acquire(head);
	region_offset seen = 0, at;
	struct stack *fresh = NULL;

	for (;;) {
		at = find_stack(first, seen, hash, frames, count);
		if (at != 0)
			return at; /* fresh, if made, is lost: a rare race */
		if (fresh == NULL)
			fresh = make_stack(hash, frames, count);
		if (fresh == NULL)
			return 0;
		fresh->next = first;
		seen = first;
		at = region_offset_of(fresh);
		/*
		 * Release publishes the contents with the link; acquire on
		 * failure, to look through what others put in front.
		 */
		if (atomic_cas_acq_rel(head, &first, at))
			return at;
	}
}

static region_offset
find_bucket(region_offset from, region_offset until, unsigned size_class)
{
	for (region_offset at = from; at != until;) {
		struct bucket *bucket = region_at(at);

		if (stacks_size_class(bucket->first_bytes) == size_class)
			return at;
		at = bucket->next;
	}
	return 0;
}

static region_offset
bucket_of(region_offset stack, uint64_t size_bytes)
{
	region_offset *head = &((struct stack *)region_at(stack))->buckets;
	unsigned size_class = stacks_size_class(size_bytes);
	/* Acquire and release as in stack_of(). */
	region_offset first = atomic_load_acquire(head);
	region_offset seen = 0, at;
	struct bucket *fresh = NULL;

	for (;;) {
		at = find_bucket(first, seen, size_class);
		if (at != 0)
			return at;
		if (fresh == NULL)
			fresh = region_alloc(sizeof(*fresh), REGION_UNIT);
		if (fresh == NULL)
			return 0;
		fresh->first_bytes = size_bytes;
		fresh->stack = stack;
		fresh->next = first;
		seen = first;
		at = region_offset_of(fresh);
		if (atomic_cas_acq_rel(head, &first, at)) {
			/* Relaxed: an estimate for sizing only. */
			atomic_add_relaxed(&bucket_count, 1);
			return at;
		}
	}
}

region_offset
stacks_bucket(const uint64_t *frames, unsigned count, uint64_t size_bytes)
{
	region_offset stack = stack_of(frames, count), bucket = 0;

	if (stack != 0)
		bucket = bucket_of(stack, size_bytes);
	if (bucket == 0)
		counter_add(COUNTER_samples_dropped_region_full);
	return bucket;
}

static int
visit_stack(int (*visit)(void *context, const struct stack *stack,
			 const struct bucket *bucket),
	    void *context, const struct stack *stack)
{
	/* Acquire: pairs with the release in bucket_of(). */
	region_offset at = atomic_load_acquire(&stack->buckets);
	int result = 0;

	while (at != 0 && result == 0) {
		const struct bucket *bucket = region_at(at);

		result = visit(context, stack, bucket);
		at = bucket->next;
	}
	return result;
}

int
stacks_each(int (*visit)(void *context, const struct stack *stack,
			 const struct bucket *bucket),
	    void *context)
{
	int result = 0;

	for (uint32_t i = 0; i < head_count && result == 0; i++) {
		/* Acquire: pairs with the release in stack_of(). */
		region_offset at = atomic_load_acquire(&heads[i]);

		while (at != 0 && result == 0) {
			const struct stack *stack = region_at(at);

			result = visit_stack(visit, context, stack);
			at = stack->next;
		}
	}
	return result;
}

unsigned
stacks_bucket_count(void)
{
	/* Relaxed: an estimate for sizing only. */
	return atomic_load_relaxed(&bucket_count);
}
