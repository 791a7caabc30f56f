/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c - functions with their own and their inclusive values, and calls.
 */
#include "graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "table.h"

struct maker {
	struct graph *graph;
	struct table *edges; /* (caller, callee) → index in graph->edges */
	size_t edge_capacity;
	/* The row that a node or an edge was last counted for, plus one. */
	size_t *node_seen;
	size_t *edge_seen;
	size_t edge_seen_capacity;
};

static size_t
edge_of(struct maker *maker, uint32_t caller, uint32_t callee)
{
	struct graph *graph = maker->graph;
	uint32_t key[2] = { caller, callee };
	uint64_t index = graph->edge_count;
	if (!table_add(maker->edges, key, sizeof(key), &index))
		return index;
	size_t count = graph->edge_count;
	memory_grow(graph->edges, graph->edge_count, maker->edge_capacity);
	memory_grow(maker->edge_seen, count, maker->edge_seen_capacity);
	graph->edges[index] =
		(struct graph_edge){ .caller = caller, .callee = callee };
	maker->edge_seen[index] = 0;
	graph->edge_count++;
	return index;
}

static void
add_row(struct maker *maker, const struct sample_row *row, size_t stamp,
	double value, double variance)
{
	struct graph *graph = maker->graph;
	if (row->frame_count) {
		struct graph_node *leaf = &graph->nodes[row->frames[0]];
		leaf->flat += value;
		leaf->flat_variance += variance;
	}
	for (size_t i = 0; i < row->frame_count; i++) {
		uint32_t number = row->frames[i];
		if (maker->node_seen[number] != stamp) {
			maker->node_seen[number] = stamp;
			graph->nodes[number].cum += value;
			graph->nodes[number].cum_variance += variance;
		}
		if (i + 1 == row->frame_count)
			break;
		size_t edge = edge_of(maker, row->frames[i + 1], number);
		if (maker->edge_seen[edge] == stamp)
			continue;
		maker->edge_seen[edge] = stamp;
		graph->edges[edge].value += value;
		graph->edges[edge].variance += variance;
	}
}

struct graph *
graph_make(const struct samples *samples, int type)
{
	struct graph *graph = memory_get(sizeof(*graph));
	struct maker maker = { .graph = graph, .edges = table_new() };
	graph->node_count = samples->name_count;
	graph->nodes = memory_get(graph->node_count * sizeof(*graph->nodes));
	graph->order = memory_get(graph->node_count * sizeof(*graph->order));
	maker.node_seen =
		memory_get(graph->node_count * sizeof(*maker.node_seen));
	for (size_t i = 0; i < graph->node_count; i++) {
		graph->nodes[i].name = samples->names[i];
		graph->nodes[i].number = (uint32_t)i;
		graph->order[i] = (uint32_t)i;
	}
	for (size_t i = 0; i < samples->row_count; i++)
		if (samples->rows[i].values[type] != 0)
			add_row(&maker, &samples->rows[i], i + 1,
				samples->rows[i].values[type],
				samples->rows[i].variances[type]);
	table_free(maker.edges);
	free(maker.node_seen);
	free(maker.edge_seen);
	return graph;
}

void
graph_free(struct graph *graph)
{
	if (!graph)
		return;
	free(graph->nodes);
	free(graph->edges);
	free(graph->order);
	free(graph);
}

struct order {
	const struct graph *graph;
	bool by_cum;
};

static int
descending(double a, double b)
{
	return fabs(a) > fabs(b) ? -1 : fabs(a) < fabs(b);
}

static int
compare(const void *a, const void *b, void *data)
{
	const struct order *order = data;
	const struct graph_node *x = &order->graph->nodes[*(const uint32_t *)a];
	const struct graph_node *y = &order->graph->nodes[*(const uint32_t *)b];
	int flat = descending(x->flat, y->flat);
	int cum = descending(x->cum, y->cum);
	int first = order->by_cum ? cum : flat;
	int second = order->by_cum ? flat : cum;
	return first ? first : second ? second : strcmp(x->name, y->name);
}

void
graph_sort(struct graph *graph, bool by_cum)
{
	struct order order = { graph, by_cum };
	if (graph->node_count)
		qsort_r(graph->order, graph->node_count, sizeof(*graph->order),
			compare, &order);
}
