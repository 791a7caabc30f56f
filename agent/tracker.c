/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracker.c - takes samples; see tracker.h.
 *
 * A sample for which there is no buffer (buffers.h), no room on the stack or in
 * a table, or whose thread is already inside one (a signal handler that
 * allocates) is dropped. It is counted, and so is what it stood for.
 */
#include "tracker.h"

#include <errno.h>
#include <signal.h>

#include "buffers.h"
#include "config.h"
#include "counters.h"
#include "fork.h"
#include "real.h"
#include "sampler.h"
#include "stacks.h"
#include "sys.h"
#include "thread.h"
#include "unwind_libunwind.h"

/*
 * What a sample may need of the stack below the hook's frame: 0.6 KiB with the
 * row cached, 1.2 KiB at the first sight of a module
 * (test/prog/small_stacks.c).
 */
#define SAMPLE_STACK_BYTES 1280
/* Immutable once the program runs; see tracker_watch_nested(). */
static READ_MOSTLY bool nested;

void
tracker_fork_child(void)
{
	/*
	 * The child's only thread may be in a handler that interrupted its
	 * sample: then that goes on, with its buffer.
	 */
	if (thread_self.inside == 0)
		buffers_fork_child();
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

static region_offset
bucket_of_caller(struct thread *thread, const uintptr_t *frame,
		 size_t size_bytes)
{
	uintptr_t thread_pointer = arch_thread_pointer();
	struct sample_buffer *buffer = buffers_take(thread_pointer);
	struct unwind_request request;
	region_offset bucket;
	enum unwind_end end;
	unsigned count = 0;

	if (buffer == NULL)
		return 0;
	request = (struct unwind_request){
		.registers = { .ip = frame[1],
			       .sp = arch_caller_sp(frame),
			       .fp = frame[0],
			       .exact = false,
			       .fp_known = true },
		.method =
			config.unwinder == UNWINDER_FP ? UNWIND_FP : UNWIND_CFI,
		.thread_pointer = thread_pointer,
		.touched = (uintptr_t)frame,
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
	buffers_give(buffer);
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

	/* 0 where a vfork child was killed while it entered the block. */
	if (likely(block->bucket != 0))
		tally_add(&bucket->freed, block);
}

bool
tracker_detach(const void *p, struct live_block *block)
{
	/*
	 * Run out, and not started anew: a vfork child was killed between the
	 * two, or a signal handler jumped out there. No gap is that long.
	 */
	if (unlikely(thread_self.countdown_bytes > INT64_MAX))
		thread_self.countdown_bytes = 0;
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
 * True if there is too little room left on the stack for us. Of the thread's
 * own stack the bounds are known, and nothing is asked. On any other the kernel
 * tells if it is an alternate signal stack, which need not have a guard below
 * it; if it is not, only a guard tells.
 */
static NOINLINE bool
is_cramped(struct thread *thread, const uintptr_t *frame)
{
	uintptr_t at = (uintptr_t)frame;
	stack_t stack;

	if (likely(span_own(&thread->own, at, arch_thread_pointer())))
		return at - thread->own.low < SAMPLE_STACK_BYTES;
	/* In a sandbox that the program has entered nothing may be asked. */
	if (unlikely(atomic_load_relaxed(&sys_confined) != 0))
		return true;
	if (!sys_failed(sys_call2(SYS_sigaltstack, NULL, &stack)) &&
	    (stack.ss_flags & SS_ONSTACK) != 0)
		return at - (uintptr_t)stack.ss_sp < SAMPLE_STACK_BYTES;
	return !span_has_room(at, SAMPLE_STACK_BYTES);
}

/* False if it cannot be kept, for a reason that was counted. */
static NOINLINE bool
take_sample(struct thread *thread, const void *p, const uintptr_t *frame,
	    struct live_block *block)
{
	struct live_block stale;
	struct bucket *bucket;

	block->bucket = bucket_of_caller(thread, frame, block->size_bytes);
	if (block->bucket == 0)
		return false;
	/* An earlier block there was freed in a way that we do not see. */
	if (live_maybe(p) && live_remove(p, &stale))
		tracker_freed(&stale);
	if (!live_insert(p, block))
		return false;
	bucket = region_at(block->bucket);
	tally_add(&bucket->allocated, block);
	return true;
}

/*
 * Where a frame is on the thread's own stack, as the distance to its end; 1,
 * which no frame has, if it is not known to be there.
 */
static uint32_t
place_of(const struct thread *thread, const uintptr_t *frame)
{
	uintptr_t distance = thread->own.high - (uintptr_t)frame;

	return distance <= thread->own.high - thread->own.low &&
			       distance < UINT32_MAX
		       ? (uint32_t)distance
		       : 1;
}

/*
 * True if the thread is inside a sample, whose frame is then below this one.
 * If it is not, the sample is gone: a vfork child was killed in it, which had
 * this thread's memory, or a signal handler jumped out of it.
 */
static bool
is_inside(const struct thread *thread, const uintptr_t *frame)
{
	uint32_t place;

	if (likely(thread->inside == 0))
		return false;
	place = place_of(thread, frame);
	return thread->inside == 1 || place == 1 || place > thread->inside;
}

/* The same, unless the thread is inside a sample or has no room for one. */
static bool
try_sample(struct thread *thread, const void *p, const uintptr_t *frame,
	   struct live_block *block)
{
	bool kept = false;

	if (is_inside(thread, frame)) {
		counter_add(COUNTER_samples_dropped_reentrant);
		return false;
	}
	thread->inside = place_of(thread, frame);
	/* A handler that allocates from here on finds us inside. */
	signal_fence();
	if (unlikely(is_cramped(thread, frame))) {
		counter_add(COUNTER_samples_dropped_small_stack);
	} else {
		/* Once more: it is known now how far the own stack goes. */
		thread->inside = place_of(thread, frame);
		kept = take_sample(thread, p, frame, block);
	}
	signal_fence();
	thread->inside = 0;
	return kept;
}

void
tracker_watch_nested(void)
{
	nested = true;
}

bool
tracker_due(size_t size_bytes)
{
	struct thread *thread = &thread_self;

	/* The first call of all starts the agent, and may be sampled itself. */
	if (unlikely(!atomic_load_relaxed(&real_known)) && thread->inside == 0)
		real_resolve();
	fork_check();
	if (!sampler_due(thread, size_bytes))
		return false;
	if (unlikely(nested)) {
		/* As a new thread's: a call within this one comes by here. */
		thread->countdown_bytes = 0;
		thread->sampling = 0;
		thread->noted = 0;
	}
	return true;
}

void
tracker_allocated(const void *p, size_t size_bytes, const uintptr_t *frame,
		  bool due)
{
	struct thread *thread = &thread_self;
	struct live_block block;

	if (p == NULL)
		return;
	if (unlikely(nested)) {
		/* The block of a call within this one, which has counted. */
		due = due && thread->noted != (uintptr_t)p;
		thread->noted = (uintptr_t)p;
	}
	if (!due)
		return;
	block = (struct live_block){
		.size_bytes = size_bytes,
		.weight = sampler_weight(size_bytes, sampler_rate_bytes),
	};
	if (!try_sample(thread, p, frame, &block))
		count_dropped(thread, &block);
}
