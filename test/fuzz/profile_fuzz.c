/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_fuzz.c - any bytes as a profile: refused, or shown and changed.
 */
/* SYMBOLIZE: profile profile_check profile_file profile_edit delta samples */
/* SYMBOLIZE: graph flame_tree estimate demangle short_name table memory utf8 */
/* SYMBOLIZE: reason proto legacy_text legacy_place */
#include <stdlib.h>

#include "delta.h"
#include "flame_tree.h"
#include "graph.h"
#include "memory.h"
#include "profile_edit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void
view(const struct profile *profile)
{
	struct samples_filter filter = { .focus = NULL };
	struct samples *samples = samples_make(profile, &filter, NULL);
	int *types = memory_get(samples->type_count * sizeof(int));
	struct graph *graph =
		graph_make(samples, profile_default_type(profile));
	graph_sort(graph, true);
	struct flame_tree *tree = flame_tree_new(samples->type_count);
	flame_tree_add(tree, samples, types);
	flame_tree_free(tree);
	graph_free(graph);
	free(types);
	samples_free(samples);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct profile *profile, *before;
	struct reason reason;
	if (profile_parse("fuzz", data, bytes, &profile, &reason))
		return 0;
	view(profile);
	if (!profile_parse("fuzz", data, bytes, &before, &reason)) {
		delta_make(before, profile, &reason);
		profile_free(before);
	}
	if (profile_edit_keep_types(profile, "inuse_"))
		profile_edit_drop_empty(profile);
	profile_free(profile);
	return 0;
}
