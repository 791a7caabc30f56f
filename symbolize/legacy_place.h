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
 * The mappings of the frames that stand for callers not found, and where the
 * agent's text profiles have them: in the first pages beyond user space.
 */
#define LEGACY_PSEUDO_COUNT 2
extern const char *const legacy_pseudo_names[LEGACY_PSEUDO_COUNT];
#define LEGACY_PSEUDO_BYTES UINT64_C(4096)
#define LEGACY_PSEUDO_ADDRESS(index) \
	((UINT64_C(1) << 47) + (uint64_t)(index)*LEGACY_PSEUDO_BYTES)

/* The index of that name, or LEGACY_PSEUDO_COUNT. */
size_t legacy_pseudo_index(const char *name);

/*
 * Gives each location the mapping that its address lies in, if there is one;
 * those in a mapping of legacy_pseudo_names the function of that name and no
 * address, as the agent's other format has it. The profile has no functions
 * yet.
 */
void legacy_place(struct profile *profile);

#endif
