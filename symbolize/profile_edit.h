/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_edit.h - leaves parts of a profile out.
 */
#ifndef HEAPAGENT_PROFILE_EDIT_H
#define HEAPAGENT_PROFILE_EDIT_H

#include "profile.h"

/*
 * Keeps the sample types whose name begins so, and their values. The default
 * type becomes the last one kept if its own is gone. False, and nothing
 * changed, if there is none.
 */
bool profile_edit_keep_types(struct profile *profile, const char *prefix);

/*
 * Drops samples of which all values are 0, then locations and functions that
 * no sample refers to any more. Mappings stay: the first names the program.
 * Strings stay, too: unknown fields may refer to them.
 */
void profile_edit_drop_empty(struct profile *profile);

#endif
