/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame_tree.c - stacks merged into a tree, the outermost frame at the root.
 */
#include "flame_tree.h"

#include <stdlib.h>

#include "memory.h"
#include "table.h"

static uint32_t
add_node(struct flame_tree *tree, uint32_t parent, uint32_t name)
{
	size_t node = tree->count, count = node;
	memory_grow(tree->parents, count, tree->node_capacity);
	memory_grow(tree->names, count, tree->name_capacity);
	tree->parents[node] = parent;
	tree->names[node] = name;
	for (size_t i = 0; i < tree->type_count; i++) {
		count = node * tree->type_count + i;
		memory_grow(tree->values, count, tree->value_capacity);
		memory_grow(tree->variances, count, tree->variance_capacity);
		tree->values[count] = 0;
		tree->variances[count] = 0;
	}
	tree->count++;
	return (uint32_t)node;
}

static uint32_t
child_of(struct flame_tree *tree, uint32_t parent, uint32_t name)
{
	uint32_t key[2] = { parent, name };
	uint64_t node = tree->count;
	if (table_add(tree->nodes, key, sizeof(key), &node))
		add_node(tree, parent, name);
	return (uint32_t)node;
}

struct flame_tree *
flame_tree_new(size_t type_count)
{
	struct flame_tree *tree = memory_get(sizeof(*tree));
	tree->type_count = type_count;
	tree->nodes = table_new();
	add_node(tree, 0, 0);
	return tree;
}

void
flame_tree_free(struct flame_tree *tree)
{
	if (!tree)
		return;
	table_free(tree->nodes);
	free(tree->parents);
	free(tree->names);
	free(tree->values);
	free(tree->variances);
	free(tree);
}

static void
add_row(struct flame_tree *tree, uint32_t node, const struct sample_row *row,
	const int *types)
{
	for (size_t i = 0; i < tree->type_count; i++) {
		size_t place = node * tree->type_count + i;
		tree->values[place] += row->values[types[i]];
		tree->variances[place] += row->variances[types[i]];
	}
}

void
flame_tree_add(struct flame_tree *tree, const struct samples *samples,
	       const int *types)
{
	for (size_t i = 0; i < samples->row_count; i++) {
		const struct sample_row *row = &samples->rows[i];
		uint32_t node = 0;
		add_row(tree, node, row, types);
		for (size_t j = row->frame_count; j-- > 0;) {
			node = child_of(tree, node, row->frames[j]);
			add_row(tree, node, row, types);
		}
	}
}

uint32_t *
flame_tree_align(struct flame_tree *tree, const struct flame_tree *other)
{
	uint32_t *numbers = memory_get(other->count * sizeof(*numbers));
	for (size_t i = 1; i < other->count; i++)
		numbers[i] = child_of(tree, numbers[other->parents[i]],
				      other->names[i]);
	return numbers;
}
