/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_profile_text.c - rows as lines; see heap_profile_text.h.
 *
 *	heap profile: OBJECTS: BYTES [OBJECTS: BYTES] @ heap_v2/RATE
 *	OBJECTS: BYTES [OBJECTS: BYTES] @ 0xADDRESS...
 *
 * in use, and in brackets allocated since the start. Before it, where the
 * mean block is not of the size that the label `bytes` has,
 *	# bytes = LABEL
 */
#include "heap_profile_text.h"

#include <stdbool.h>

/* The four numbers of a line. */
struct figures {
	uint64_t inuse_objects;
	uint64_t inuse_bytes;
	uint64_t alloc_objects;
	uint64_t alloc_bytes;
};

/*
 * With a rate of 1 the samples are all there is. gperftools' and jemalloc's
 * readers would weigh even them (a block of one byte as 1.6), unless the type
 * is that of an unsampled profile.
 */
static bool
is_sampled(uint64_t rate_bytes)
{
	return rate_bytes > 1;
}

static struct figures
figures_of(const struct heap_row *row, uint64_t rate_bytes)
{
	struct figures figures = {
		.inuse_objects =
			heap_in_use(row->allocated.objects, row->freed.objects),
		.inuse_bytes =
			heap_in_use(row->allocated.bytes, row->freed.bytes),
		.alloc_objects = row->allocated.objects,
		.alloc_bytes = row->allocated.bytes,
	};

	/*
	 * Blocks of no size count as one byte for the sampler. Readers divide
	 * by their weight, which would be zero (jeprof dies of it).
	 */
	if (is_sampled(rate_bytes) && figures.alloc_bytes == 0) {
		figures.alloc_bytes = figures.alloc_objects;
		figures.inuse_bytes = figures.inuse_objects;
	}
	/* Read while a sample came in: Go's reader takes no bytes of nothing.
	 */
	if (figures.inuse_objects == 0)
		figures.inuse_bytes = 0;
	return figures;
}

static struct figures
sum_up(const struct heap_rows *rows, uint64_t rate_bytes)
{
	struct figures sum = { 0 };

	for (unsigned i = 0; i < rows->count; i++) {
		struct figures one = figures_of(&rows->rows[i], rate_bytes);

		sum.inuse_objects += one.inuse_objects;
		sum.inuse_bytes += one.inuse_bytes;
		sum.alloc_objects += one.alloc_objects;
		sum.alloc_bytes += one.alloc_bytes;
	}
	return sum;
}

static void
put_figures(struct text *out, const struct figures *figures)
{
	text_number(out, figures->inuse_objects);
	text_put(out, ": ");
	text_number(out, figures->inuse_bytes);
	text_put(out, " [");
	text_number(out, figures->alloc_objects);
	text_put(out, ": ");
	text_number(out, figures->alloc_bytes);
	text_put(out, "] @");
}

/*
 * For heapagent's own reader, so that the label is the same in every dump and
 * in both formats; others make one of the mean.
 */
static void
put_label(struct text *out, const struct heap_row *row)
{
	uint64_t label = row->first_bytes;

	if (label == 0 ||
	    row->allocated.bytes / row->allocated.objects == label)
		return;
	text_put(out, "# bytes = ");
	text_number(out, label);
	text_put(out, "\n");
}

static void
put_head(struct text *out, struct figures sum, uint64_t rate_bytes)
{
	/*
	 * If nothing was freed, Go's reader would see a profile that does not
	 * tell allocated from in use: two sample types in place of four. Only
	 * that comparison is made of these figures, so one byte more does no
	 * harm (Go's own runtime/pprof adds it, too).
	 */
	if (sum.inuse_bytes == sum.alloc_bytes)
		sum.alloc_bytes++;
	text_put(out, "heap profile: ");
	put_figures(out, &sum);
	if (is_sampled(rate_bytes)) {
		text_put(out, " heap_v2/");
		text_number(out, rate_bytes);
	} else {
		text_put(out, " heapprofile");
	}
	text_put(out, "\n");
}

void
heap_profile_text_write(struct text_profile *profile,
			const struct heap_rows *rows, uint64_t rate_bytes)
{
	struct text *out = text_profile_stream(profile);

	put_head(out, sum_up(rows, rate_bytes), rate_bytes);
	for (unsigned i = 0; i < rows->count; i++) {
		const struct heap_row *row = &rows->rows[i];
		struct figures figures = figures_of(row, rate_bytes);

		/* A bucket just made, whose first sample is on its way. */
		if (figures.alloc_objects == 0)
			continue;
		put_label(out, row);
		put_figures(out, &figures);
		text_profile_stack(profile, row->stack->frames,
				   row->stack->frame_count);
		text_put(out, "\n");
	}
}
