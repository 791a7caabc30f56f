/* SPDX-License-Identifier: Apache-2.0 */
/* thread_profile.c - threads as samples; see thread_profile.h. */
#include "thread_profile.h"

#include "compiler.h"

#define MILLISECOND_NS UINT64_C(1000000)

size_t
thread_profile_count(const struct threads *threads)
{
	size_t count = 0;

	for (unsigned i = 0; i < threads->count; i++)
		count += threads->records[i].frame_count > 0;
	return count;
}

size_t
thread_profile_frames(const struct threads *threads)
{
	size_t frames = 0;

	for (unsigned i = 0; i < threads->count; i++)
		frames += threads->records[i].frame_count;
	return frames;
}

static void
write_thread(struct pprof *pprof, const struct thread_record *record)
{
	const int64_t one = 1;
	/* To the whole millisecond that has passed: it is a lower bound. */
	uint64_t blocked_ms = threads_blocked_ns(record) / MILLISECOND_NS;
	char state[THREAD_STATE_MAX];
	const struct pprof_label labels[] = {
		{ .key = "thread", .text = record->name },
		{ .key = "state", .text = state },
		{ .key = "tid", .number = record->tid },
		{ .key = "blocked",
		  .number = (int64_t)(blocked_ms * MILLISECOND_NS),
		  .unit = "nanoseconds" },
	};

	threads_state_text(record, state);
	pprof_sample(pprof, record->frames, record->frame_count, &one, 1,
		     labels, ARRAY_SIZE(labels) - (blocked_ms == 0));
}

void
thread_profile_write(struct pprof *pprof, const struct threads *threads)
{
	const struct pprof_value_type type = { "threads", "count" };

	pprof_sample_type(pprof, type);
	pprof_default_sample_type(pprof, "threads");
	pprof_period(pprof, type, 1);
	for (unsigned i = 0; i < threads->count; i++)
		if (threads->records[i].frame_count > 0)
			write_thread(pprof, &threads->records[i]);
}
