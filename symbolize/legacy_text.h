/* SPDX-License-Identifier: Apache-2.0 */
/*
 * legacy_text.h - pprof's older text formats, read into a profile:
 *
 *	heap profile: N: N [N: N] @ heap_v2/RATE	or heapprofile,
 *heap/2RATE NAME profile: total N			of Go, and our threads
 *
 * Written by HEAPAGENT_FORMAT=text, by gperftools, by Go (debug=1). Frames
 * find their mapping by address, since the text has no other link.
 */
#ifndef HEAPAGENT_LEGACY_TEXT_H
#define HEAPAGENT_LEGACY_TEXT_H

#include <stdbool.h>

#include "profile.h"

/* Whether the data begins as one of these texts does. */
bool legacy_text_is(const uint8_t *data, size_t data_bytes);

/* A profile without anything, to read into. */
struct pb_profile *legacy_text_empty(void);

/*
 * Reads the text into profile, whose pb is legacy_text_empty(). Sampled
 * figures become estimates, each line's by its mean block size, as all readers
 * of this format do. 0, or -EINVAL and the reason.
 */
int legacy_text_read(struct profile *profile, const uint8_t *data,
		     size_t data_bytes, struct reason *reason);

#endif
