/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.h - functions with their own and their inclusive values, and calls.
 *
 * flat is what a function allocated itself (it is the innermost frame), cum
 * what it and all it called did: counted once for a stack, however often it
 * occurs there. So is the value of a call, caller to callee.
 */
#ifndef HEAPAGENT_GRAPH_H
#define HEAPAGENT_GRAPH_H

#include "samples.h"

struct graph_node {
	const char *name;
	uint32_t number; /* of the name */
	double flat, flat_variance;
	double cum, cum_variance;
};

struct graph_edge {
	uint32_t caller; /* index in nodes, which is the name's number */
	uint32_t callee;
	double value, variance;
};

struct graph {
	struct graph_node *nodes; /* by number of the name */
	size_t node_count;
	struct graph_edge *edges;
	size_t edge_count;
	uint32_t *order; /* of nodes, as graph_sort() left it */
};

/* The graph of one sample type. The samples must outlive it. */
struct graph *graph_make(const struct samples *samples, int type);
void graph_free(struct graph *graph);

/*
 * Orders nodes by the absolute value of flat, or cum, the greatest first; then
 * by the other, then by name.
 */
void graph_sort(struct graph *graph, bool by_cum);

#endif
