/* SPDX-License-Identifier: Apache-2.0 */
/*
 * legacy_place.h - which mapping each location of a text profile is in.
 *
 * A text has one address space, and so no other link than the address.
 */
#ifndef HEAPAGENT_LEGACY_PLACE_H
#define HEAPAGENT_LEGACY_PLACE_H

#include "profile.h"

/*
 * The mapping of the frames that stand for callers not found, and where the
 * agent's text profiles have it: beyond user space.
 */
#define LEGACY_TRUNCATED "[truncated]"
#define LEGACY_TRUNCATED_ADDRESS (UINT64_C(1) << 47)

/*
 * Gives each location the mapping that its address lies in, if there is one;
 * those in LEGACY_TRUNCATED the function of that name and no address, as the
 * agent's other format has it. The profile has no functions yet.
 */
void legacy_place(struct profile *profile);

#endif
