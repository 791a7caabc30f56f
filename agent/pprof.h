/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof.h - the profile layer: fields of profile.proto, streamed.
 *
 *	heap_profile, thread_profile  (meaning)
 *	        └► pprof              (this: which field, which id)
 *	             └► wire          (varints, tags, lengths)
 *	                  └► gzip ─► file
 *
 * Knows nothing of heaps or threads: sample types, samples of frames and
 * values, labels, and for each frame its location and mapping. Messages go
 * out as they arise (protobuf allows any order), the string table and the
 * mappings last. Source: google/pprof proto/profile.proto.
 */
#ifndef HEAPAGENT_PPROF_H
#define HEAPAGENT_PPROF_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "gzip.h"

struct pprof; /* in the arena; see pprof.c */

/* Frames, values and labels of one sample, at most: unwind.h's limit. */
#define PPROF_FRAMES_MAX 512
/* Distinct label texts that the arena has room for; one a frame at most. */
#define PPROF_LABEL_TEXTS_MAX 65536

struct pprof_label {
	const char *key;
	const char *text; /* a string label, or NULL for a number: */
	int64_t number;
	const char *unit; /* of the number; NULL: none */
};

struct pprof_value_type {
	const char *type;
	const char *unit;
};

/*
 * Begins a profile that is written to out. The arena needs at most
 * pprof_arena_bytes(frames) for a profile of that many frames, were they all
 * distinct, with comments of 32 KiB; what is used grows with the distinct
 * ones. NULL if the arena is too small. Strings that are passed in are
 * copied; of bytes that are not UTF-8 each becomes '?'. [dump]
 */
struct pprof *pprof_open(struct arena *arena, struct gzip *out,
			 size_t frames_max);
size_t pprof_arena_bytes(size_t frames_max);

void pprof_sample_type(struct pprof *pprof, struct pprof_value_type type);
/* The sample type that a viewer shows first. */
void pprof_default_sample_type(struct pprof *pprof, const char *type);
void pprof_period(struct pprof *pprof, struct pprof_value_type type,
		  int64_t period);
/*
 * When it was taken. There is no duration: stores take a profile that has one
 * for what happened within it, and add such up, but these count from the start.
 */
void pprof_time(struct pprof *pprof, uint64_t time_ns);
void pprof_comment(struct pprof *pprof, const char *text);

/*
 * One sample: frames as in frame.h, innermost first, one value for each sample
 * type. Locations are made as they are first met.
 */
void pprof_sample(struct pprof *pprof, const uint64_t *frames,
		  unsigned frame_count, const int64_t *values,
		  unsigned value_count, const struct pprof_label *labels,
		  unsigned label_count);

/*
 * Writes the mappings and the string table. 0, or the first error of the whole
 * profile: -ENOMEM (arena used up), -E2BIG (a sample of too many frames) or
 * -EMSGSIZE (of too many labels). Errors of the file are gzip_close()'s.
 * Mapping 1 is the executable, which is module 1. [dump]
 */
int pprof_close(struct pprof *pprof);

#endif
