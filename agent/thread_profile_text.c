/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_profile_text.c - threads as blocks; see thread_profile_text.h.
 *
 *	threads profile: total COUNT
 *
 *	# thread TID "NAME" [STATE, MINUTES minutes]:
 *	1 @ 0xADDRESS...
 *	#	0xADDRESS	MODULE+0xADDRESS
 *
 * The minutes as Go has them with debug=2: from one on.
 */
#include "thread_profile_text.h"

#define MINUTE_NS UINT64_C(60000000000)

static void
put_thread(struct text_profile *profile, const struct thread_record *record)
{
	struct text *out = text_profile_stream(profile);
	uint64_t minutes = threads_blocked_ns(record) / MINUTE_NS;
	char state[THREAD_STATE_MAX];

	threads_state_text(record, state);
	text_put(out, "\n# thread ");
	text_number(out, (uint64_t)record->tid);
	text_put(out, " ");
	text_put_quoted(out, record->name);
	text_put(out, " [");
	text_put(out, state);
	if (minutes > 0) {
		text_put(out, ", ");
		text_number(out, minutes);
		text_put(out, " minutes");
	}
	text_put(out, "]:\n1 @");
	text_profile_stack(profile, record->frames, record->frame_count);
	text_put(out, "\n");
	text_profile_frames(profile, record->frames, record->frame_count);
}

void
thread_profile_text_write(struct text_profile *profile,
			  const struct threads *threads)
{
	struct text *out = text_profile_stream(profile);

	text_put(out, "threads profile: total ");
	text_number(out, thread_profile_count(threads));
	text_put(out, "\n");
	for (unsigned i = 0; i < threads->count; i++)
		if (threads->records[i].frame_count > 0)
			put_thread(profile, &threads->records[i]);
}
