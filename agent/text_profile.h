/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_profile.h - pprof's legacy text: addresses of stacks, and at the end
 * what lies where.
 *
 *	heap_profile_text, thread_profile_text ─► text_profile ─► text ─► file
 *
 * Knows nothing of heaps or threads. Readers of this format (gperftools' and
 * jemalloc's perl scripts, go tool pprof) have one address space: they find a
 * frame's file by looking its address up in the list of mappings. So a library
 * that was closed is written as if it lay in a range of its own beyond all
 * user space, since its old place may be another's; what stands for frames that
 * were not found lies in a mapping called [truncated] or [uncertain].
 * Sources: gperftools 2.10 pprof, jemalloc 5.3 jeprof, and google/pprof
 * profile/legacy_profile.go (2022).
 */
#ifndef HEAPAGENT_TEXT_PROFILE_H
#define HEAPAGENT_TEXT_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "text.h"

struct text_profile; /* in the arena; see text_profile.c */

/* What text_profile_open() takes from an arena, at most. */
#define TEXT_PROFILE_ARENA_BYTES ((size_t)48 << 10)

/* Begins a profile that is written to out; NULL: the arena is too small.
 * [dump] */
struct text_profile *text_profile_open(struct arena *arena, struct text *out);

/* The stream, for what stands around the stacks. */
struct text *text_profile_stream(struct text_profile *profile);

/*
 * " 0x..." for each frame (see frame.h), innermost first: its return address,
 * from which a reader takes one off to be in the call. [dump]
 */
void text_profile_stack(struct text_profile *profile, const uint64_t *frames,
			unsigned count);

/*
 * The frames once more, a comment line each, for a person: the address of the
 * call, and MODULE+0xADDRESS as addr2line -e MODULE wants it. [dump]
 */
void text_profile_frames(struct text_profile *profile, const uint64_t *frames,
			 unsigned count);

/* "# build_id = HEX 0xSTART" for each file that frames were in, by the start
 * of its mapping; the executable first. [dump] */
void text_profile_build_ids(struct text_profile *profile);
/* A line of /proc/PID/maps for each of them. [dump] */
void text_profile_mappings(struct text_profile *profile);

#endif
