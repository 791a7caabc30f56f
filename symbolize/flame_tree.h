/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame_tree.h - stacks merged into a tree, the outermost frame at the root.
 */
#ifndef HEAPAGENT_FLAME_TREE_H
#define HEAPAGENT_FLAME_TREE_H

#include "samples.h"

/* The types of the tree; each has a place in every node's values. */
struct flame_tree {
	size_t type_count;
	size_t count;	   /* nodes; a parent comes before its children */
	uint32_t *parents; /* of node 0, the root: 0 */
	uint32_t *names;   /* numbers of the samples' names; the root: none */
	double *values;	   /* type_count for each node */
	double *variances;
	size_t node_capacity, name_capacity, value_capacity, variance_capacity;
	struct table *nodes; /* (parent, name) → node */
};

struct flame_tree *flame_tree_new(size_t type_count);
void flame_tree_free(struct flame_tree *tree);

/*
 * Adds all stacks. types[i] is the samples' type that counts as the tree's
 * type i.
 */
void flame_tree_add(struct flame_tree *tree, const struct samples *samples,
		    const int *types);

/*
 * Makes sure that a path of the other tree exists in this one, with zeros:
 * afterwards number[i] is this tree's node for the other's node i.
 */
uint32_t *flame_tree_align(struct flame_tree *tree,
			   const struct flame_tree *other);

#endif
