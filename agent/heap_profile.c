/* SPDX-License-Identifier: Apache-2.0 */
/* heap_profile.c - buckets into samples; see heap_profile.h. */
#include "heap_profile.h"

#include <errno.h>
#include <stdbool.h>

#include "atomics.h"

/*
 * Rows are taken from the arena a block at a time, and blocks lie side by
 * side. No count made beforehand would do: buckets are made meanwhile, in
 * front of others, so that not the newest would be left out but any.
 */
#define BLOCK_ROWS 64
_Static_assert(BLOCK_ROWS * sizeof(struct heap_row) % CACHE_LINE == 0,
	       "blocks of rows follow each other in the arena without a gap");

/* Buckets that may be made between the sizing of the arena and the capture. */
#define SPARE_ROWS 8192

struct capture {
	struct heap_rows *rows;
	struct arena *arena;
};

static struct heap_row *
take_row(struct heap_rows *rows, struct arena *arena)
{
	if (rows->count % BLOCK_ROWS == 0) {
		void *block =
			arena_alloc(arena, BLOCK_ROWS * sizeof(*rows->rows));

		if (block == NULL)
			return NULL;
		if (rows->count == 0)
			rows->rows = block;
	}
	return &rows->rows[rows->count++];
}

static struct tally
read_tally(const struct tally *tally)
{
	/*
	 * Relaxed: each sum is right by itself. Between two of them a sample
	 * may have come in, which makes a row wrong by that sample for the
	 * one dump, and is bounded below at 0 by heap_in_use().
	 */
	return (struct tally){
		.objects = atomic_load_relaxed(&tally->objects),
		.bytes = atomic_load_relaxed(&tally->bytes),
		.weighted_objects =
			atomic_load_relaxed(&tally->weighted_objects),
		.weighted_bytes = atomic_load_relaxed(&tally->weighted_bytes),
	};
}

static int
capture_bucket(void *context, const struct stack *stack,
	       const struct bucket *bucket)
{
	struct capture *capture = context;
	struct heap_row *row = take_row(capture->rows, capture->arena);

	if (row == NULL)
		return -ENOMEM;
	row->stack = stack;
	row->first_bytes = bucket->first_bytes;
	row->freed = read_tally(&bucket->freed);
	/*
	 * Pairs with the additions to `allocated` that came before each free:
	 * without it a free could be seen whose allocation is not, and more
	 * be freed than was allocated.
	 */
	atomic_fence_acquire();
	row->allocated = read_tally(&bucket->allocated);
	capture->rows->frame_count += stack->frame_count;
	return 0;
}

int
heap_rows_capture(struct heap_rows *rows, struct arena *arena)
{
	struct capture capture = { .rows = rows, .arena = arena };

	*rows = (struct heap_rows){ 0 };
	return stacks_each(capture_bucket, &capture);
}

size_t
heap_rows_arena_bytes(void)
{
	return ((size_t)stacks_bucket_count() + SPARE_ROWS) *
	       sizeof(struct heap_row);
}

uint64_t
heap_round(uint64_t fixed, unsigned bits, uint64_t dither)
{
	uint64_t fraction = fixed & ((UINT64_C(1) << bits) - 1);

	/* The fraction alone, so that the addition cannot wrap. */
	return (fixed >> bits) + ((fraction + dither) >> bits);
}

uint64_t
heap_in_use(uint64_t allocated, uint64_t freed)
{
	uint64_t difference = allocated - freed;

	/* Negative only if the two were read while a sample came in. */
	return (int64_t)difference < 0 ? 0 : difference;
}

/*
 * 64 bits that look drawn: the same for a bucket in every dump of a process,
 * others in every process.
 */
static uint64_t
row_draw(const struct heap_row *row)
{
	uint64_t x =
		row->stack->hash + row->first_bytes + 1 + region_header()->seed;

	/* splitmix64's finalizer (Steele, Lea, Flood 2014). */
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static void
put_row(struct pprof *pprof, const struct heap_row *row)
{
	const struct tally *allocated = &row->allocated;
	const struct tally *freed = &row->freed;
	uint64_t draw = row_draw(row);
	/* Of the same bits, so that no more is in use than was allocated. */
	uint64_t object_draw = draw >> (64 - TALLY_OBJECT_BITS);
	uint64_t byte_draw = draw & ((1U << TALLY_BYTE_BITS) - 1);
	int64_t values[4];
	/* Blocks of no size have none: a 0 would read as unknown. */
	const struct pprof_label label = {
		.key = "bytes",
		.number = (int64_t)row->first_bytes,
		.unit = "bytes",
	};

	values[0] = (int64_t)heap_round(allocated->weighted_objects,
					TALLY_OBJECT_BITS, object_draw);
	values[1] = (int64_t)heap_round(allocated->weighted_bytes,
					TALLY_BYTE_BITS, byte_draw);
	values[2] = (int64_t)heap_round(heap_in_use(allocated->weighted_objects,
						    freed->weighted_objects),
					TALLY_OBJECT_BITS, object_draw);
	values[3] = (int64_t)heap_round(heap_in_use(allocated->weighted_bytes,
						    freed->weighted_bytes),
					TALLY_BYTE_BITS, byte_draw);
	pprof_sample(pprof, row->stack->frames, row->stack->frame_count, values,
		     4, &label, label.number != 0);
}

void
heap_profile_write(struct pprof *pprof, const struct heap_rows *rows,
		   const char *default_sample_type, uint64_t rate_bytes)
{
	const struct pprof_value_type space = { "space", "bytes" };

	pprof_sample_type(pprof, (struct pprof_value_type){ "alloc_objects",
							    "count" });
	pprof_sample_type(pprof,
			  (struct pprof_value_type){ "alloc_space", "bytes" });
	pprof_sample_type(pprof, (struct pprof_value_type){ "inuse_objects",
							    "count" });
	pprof_sample_type(pprof,
			  (struct pprof_value_type){ "inuse_space", "bytes" });
	pprof_default_sample_type(pprof, default_sample_type);
	pprof_period(pprof, space, (int64_t)rate_bytes);
	for (unsigned i = 0; i < rows->count; i++) {
		/* A bucket just made, whose first sample is on its way. */
		if (rows->rows[i].allocated.objects == 0)
			continue;
		put_row(pprof, &rows->rows[i]);
	}
}
