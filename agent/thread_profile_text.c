/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_profile_text.c - groups as blocks; see thread_profile_text.h.
 *
 *	threads profile: total COUNT
 *
 *	# thread NAME (STATE) xCOUNT:
 *	COUNT @ 0xADDRESS...
 *	#	0xADDRESS	MODULE+0xADDRESS
 */
#include "thread_profile_text.h"

static void
put_group(struct text_profile *profile, const struct thread_group *group)
{
	const struct thread_record *record = group->first;
	struct text *out = text_profile_stream(profile);

	text_put(out, "\n# thread ");
	text_put_clean(out, record->name);
	text_put(out, " (");
	text_put(out, record->state);
	text_put(out, ") x");
	text_number(out, group->count);
	text_put(out, ":\n");
	text_number(out, group->count);
	text_put(out, " @");
	text_profile_stack(profile, record->frames, record->frame_count);
	text_put(out, "\n");
	text_profile_frames(profile, record->frames, record->frame_count);
}

void
thread_profile_text_write(struct text_profile *profile,
			  const struct thread_groups *groups)
{
	struct text *out = text_profile_stream(profile);
	uint64_t total = 0;

	for (unsigned i = 0; i < groups->count; i++)
		total += groups->groups[i].count;
	text_put(out, "threads profile: total ");
	text_number(out, total);
	text_put(out, "\n");
	for (unsigned i = 0; i < groups->count; i++)
		put_group(profile, &groups->groups[i]);
}
