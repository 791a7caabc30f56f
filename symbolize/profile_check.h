/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_check.h - what google/pprof's Parse and CheckValid demand.
 */
#ifndef HEAPAGENT_PROFILE_CHECK_H
#define HEAPAGENT_PROFILE_CHECK_H

#include "profile.h"

/*
 * Fills the profile's identifier tables and checks the whole. 0 or -EINVAL
 * with the first thing that is wrong.
 */
int profile_check(struct profile *profile, struct reason *reason);

/* Whether all stacks with all their lines are few enough to be shown. */
int profile_check_lines(const struct profile *profile, struct reason *reason);

#endif
