/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracker.c - takes samples; see tracker.h.
 *
 * A walk of the stack needs a few KiB, which small stacks do not have, so the
 * walks share a pool of buffers in the region. A thread that finds none free
 * drops its sample; one that is already inside a sample (a signal handler
 * that allocates) drops its own too. Both are counted.
 */
#include "tracker.h"

#include <errno.h>
#include <signal.h>

#include "config.h"
#include "counters.h"
#include "fork.h"
#include "sampler.h"
#include "stacks.h"
#include "sys.h"
#include "thread.h"
#include "unwind_libunwind.h"

struct sample_buffer {
	CACHE_ALIGNED
	uint32_t taken; /* atomic; guards the rest */
	struct unwind_scratch scratch;
	uint64_t frames[UNWIND_FRAMES_MAX];
};

/*
 * What a sample may need of the stack below the hook: 0.6 KiB with the row
 * cached (test/prog/small_stacks.c), more at the first sight of a module.
 */
#define SAMPLE_STACK_BYTES 2048
/* As many walks at a time; more threads than cores rarely walk at once. */
#define BUFFERS 64

/* Immutable after tracker_init(). */
static struct sample_buffer *buffers;

int
tracker_init(void)
{
	buffers = region_table("sample_buffers", sizeof(*buffers), BUFFERS,
			       CACHE_LINE);
	return buffers == NULL ? -ENOMEM : 0;
}

void
tracker_fork_child(void)
{
	/* The child's only thread is not inside a sample when it gets here. */
	for (unsigned i = 0; i < BUFFERS; i++)
		atomic_store_relaxed(&buffers[i].taken, 0);
}

static struct sample_buffer *
take_buffer(uintptr_t thread_pointer)
{
	/* Thread control blocks are pages apart: threads start at their own. */
	unsigned start = (unsigned)(thread_pointer >> 12);

	for (unsigned i = 0; i < BUFFERS; i++) {
		struct sample_buffer *buffer = &buffers[(start + i) % BUFFERS];
		uint32_t expected = 0;

		/* Acquire: pairs with the release in give_buffer(). */
		if (atomic_cas_acquire(&buffer->taken, &expected, 1))
			return buffer;
	}
	counter_add(COUNTER_samples_dropped_busy);
	return NULL;
}

static void
give_buffer(struct sample_buffer *buffer)
{
	/* Release: our use of the buffer is over before another's begins. */
	atomic_store_release(&buffer->taken, 0);
}

/* libunwind makes system calls through libc. */
static COLD enum unwind_end
walk_by_libunwind(const struct unwind_request *request, unsigned *count)
{
	int saved = errno;
	enum unwind_end end = unwind_libunwind_stack(request, count);

	errno = saved;
	return end;
}

static struct bucket *
bucket_of_caller(struct thread *thread, const uintptr_t *frame,
		 size_t size_bytes)
{
	uintptr_t thread_pointer = arch_thread_pointer();
	struct sample_buffer *buffer = take_buffer(thread_pointer);
	struct unwind_request request;
	struct bucket *bucket;
	enum unwind_end end;
	unsigned count = 0;

	if (buffer == NULL)
		return NULL;
	request = (struct unwind_request){
		.registers = { .ip = frame[1],
			       .sp = (uintptr_t)(frame + 2),
			       .fp = frame[0],
			       .exact = false,
			       .fp_known = true },
		.method =
			config.unwinder == UNWINDER_FP ? UNWIND_FP : UNWIND_CFI,
		.thread_pointer = thread_pointer,
		.own = &thread->own,
		.scratch = &buffer->scratch,
		.frames = buffer->frames,
		.max = config.depth_frames,
	};
	if (unlikely(config.unwinder == UNWINDER_LIBUNWIND))
		end = walk_by_libunwind(&request, &count);
	else
		end = unwind_stack(&request, &count);
	if (unlikely(end == UNWIND_DEPTH))
		counter_add(COUNTER_stacks_truncated_depth);
	else if (unlikely(end == UNWIND_TRUNCATED))
		counter_add(COUNTER_stacks_truncated_unwind);
	bucket = stacks_bucket(buffer->frames, count, size_bytes);
	give_buffer(buffer);
	return bucket;
}

/* A weight times a whole number, in units of 2^-bits, rounded. */
static uint64_t
weighted(uint64_t weight, uint64_t number, unsigned bits)
{
	const unsigned shift = SAMPLER_WEIGHT_BITS - bits;
	unsigned __int128 product = (unsigned __int128)weight * number;

	return (uint64_t)((product + (1U << (shift - 1))) >> shift);
}

/*
 * Adds a block to a tally. Each sum is rounded from the block's size and
 * weight alone, so the free's addition equals the allocation's.
 */
static void
tally_add(struct tally *tally, const struct live_block *block)
{
	/* Relaxed, all four: sums that nothing else is ordered by. */
	atomic_add_relaxed(&tally->objects, 1);
	atomic_add_relaxed(&tally->bytes, block->size_bytes);
	atomic_add_relaxed(&tally->weighted_objects,
			   weighted(block->weight, 1, TALLY_OBJECT_BITS));
	atomic_add_relaxed(&tally->weighted_bytes,
			   weighted(block->weight, block->size_bytes,
				    TALLY_BYTE_BITS));
}

void
tracker_freed(const struct live_block *block)
{
	struct bucket *bucket = region_at(block->bucket);

	tally_add(&bucket->freed, block);
}

bool
tracker_detach(const void *p, struct live_block *block)
{
	return live_remove(p, block);
}

/*
 * A sample that cannot be kept: what it stood for is missing. Objects are
 * whole ones, rounded with the probability of the fraction; the state of the
 * generator is as good as a draw for it, and there is nothing to disturb.
 */
static COLD void
count_dropped(const struct thread *thread, const struct live_block *block)
{
	uint64_t dither = thread->random >> (64 - SAMPLER_WEIGHT_BITS);

	counter_add_many(COUNTER_dropped_objects,
			 (block->weight + dither) >> SAMPLER_WEIGHT_BITS);
	counter_add_many(COUNTER_dropped_bytes,
			 weighted(block->weight, block->size_bytes, 0));
}

void
tracker_attach(const void *p, const struct live_block *block)
{
	if (live_insert(p, block))
		return;
	count_dropped(&thread_self, block);
	tracker_freed(block);
}

/*
 * True on an alternate signal stack with too little room left for us: a
 * handler on one of the smallest size may allocate without overflowing it.
 * Asks the kernel, but not on the thread's own stack: a sandbox may end the
 * program for sigaltstack(), while it must permit what span_own() asks with
 * (sys_readable()), which pthread_create() needs itself.
 */
static NOINLINE bool
is_cramped(struct thread *thread, const uintptr_t *frame)
{
	stack_t stack;

	if (span_own(&thread->own, (uintptr_t)frame, arch_thread_pointer()))
		return false;
	return !sys_failed(sys_call2(SYS_sigaltstack, NULL, &stack)) &&
	       (stack.ss_flags & SS_ONSTACK) != 0 &&
	       (uintptr_t)frame - (uintptr_t)stack.ss_sp < SAMPLE_STACK_BYTES;
}

/* False if it cannot be kept, for a reason that was counted. */
static NOINLINE bool
take_sample(struct thread *thread, const void *p, const uintptr_t *frame,
	    struct live_block *block)
{
	struct bucket *bucket =
		bucket_of_caller(thread, frame, block->size_bytes);
	struct live_block stale;

	if (bucket == NULL)
		return false;
	block->bucket = region_offset_of(bucket);
	/* An earlier block there was freed in a way that we do not see. */
	if (live_maybe(p) && live_remove(p, &stale))
		tracker_freed(&stale);
	if (!live_insert(p, block))
		return false;
	tally_add(&bucket->allocated, block);
	return true;
}

/* The same, unless the thread is inside a sample or has no room for one. */
static bool
try_sample(struct thread *thread, const void *p, const uintptr_t *frame,
	   struct live_block *block)
{
	bool kept = false;

	if (thread->inside != 0) {
		counter_add(COUNTER_samples_dropped_reentrant);
		return false;
	}
	thread->inside = 1;
	/* A handler that allocates from here on finds us inside. */
	signal_fence();
	if (unlikely(is_cramped(thread, frame)))
		counter_add(COUNTER_samples_dropped_small_stack);
	else
		kept = take_sample(thread, p, frame, block);
	signal_fence();
	thread->inside = 0;
	return kept;
}

bool
tracker_due(size_t size_bytes)
{
	fork_check();
	return sampler_due(&thread_self, size_bytes);
}

void
tracker_allocated(const void *p, size_t size_bytes, const uintptr_t *frame)
{
	struct thread *thread = &thread_self;
	struct live_block block;

	if (p == NULL)
		return;
	block = (struct live_block){
		.size_bytes = size_bytes,
		.weight = sampler_weight(size_bytes, sampler_rate_bytes),
	};
	if (!try_sample(thread, p, frame, &block))
		count_dropped(thread, &block);
}
