/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dropped.h - the frames that a profile itself says are not to be shown.
 *
 * drop_frames and keep_frames of profile.proto: a function whose whole name
 * matches the first and not the second is left out of stacks, with all that it
 * called. So a runtime hides what lies below its allocator's entry. A pattern
 * that is none drops nothing: one line on standard error says so.
 */
#ifndef HEAPAGENT_DROPPED_H
#define HEAPAGENT_DROPPED_H

#include <stdbool.h>

#include "profile.h"

struct dropped;

/* NULL if the profile drops nothing. */
struct dropped *dropped_open(const struct profile *profile);
void dropped_close(struct dropped *dropped);

/* Whether a function of that name, demangled, is dropped. */
bool dropped_function(const struct dropped *dropped, const char *name);

#endif
