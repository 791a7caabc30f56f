/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_tree.c - `heapagent tree` and `peek`: callers and callees.
 *
 * In the form of go tool pprof -tree and -peek: for each function, its callers
 * above it and its callees below.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "estimate.h"
#include "graph.h"
#include "heading.h"
#include "json.h"
#include "memory.h"
#include "units.h"
#include "view.h"

#define COLUMN 18

struct tree {
	struct view *view;
	const struct samples *samples;
	struct graph *graph;
	int type;
	const char *unit;
	double total;
	bool is_estimate;
	const struct graph_edge **edges; /* of one node; room for all */
};

static int
compare_edges(const void *a, const void *b)
{
	const struct graph_edge *x = *(const struct graph_edge *const *)a;
	const struct graph_edge *y = *(const struct graph_edge *const *)b;
	if (fabs(x->value) != fabs(y->value))
		return fabs(x->value) > fabs(y->value) ? -1 : 1;
	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	return x->callee < y->callee ? -1 : x->callee > y->callee;
}

/* The calls of (or to) a function, the greatest first, in tree->edges. */
static size_t
collect_edges(struct tree *tree, uint32_t number, bool callers)
{
	const struct graph *graph = tree->graph;
	size_t count = 0;
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct graph_edge *edge = &graph->edges[i];
		if ((callers ? edge->callee : edge->caller) == number)
			tree->edges[count++] = edge;
	}
	if (count)
		qsort(tree->edges, count, sizeof(*tree->edges), compare_edges);
	return count;
}

static void
print_edges(struct tree *tree, const struct graph_node *node, bool callers)
{
	size_t count = collect_edges(tree, node->number, callers);
	for (size_t i = 0; i < count; i++) {
		const struct graph_edge *edge = tree->edges[i];
		uint32_t other = callers ? edge->caller : edge->callee;
		struct units_text value =
			units_estimate(edge->value, edge->variance, tree->unit,
				       tree->is_estimate);
		heading_right("", 2 * COLUMN + 16);
		heading_right(value.text, COLUMN);
		heading_right(units_percent(edge->value, node->cum).text, 8);
		printf(" |   %s\n", tree->graph->nodes[other].name);
	}
}

static void
print_node(struct tree *tree, const struct graph_node *node)
{
	struct units_text flat = units_estimate(node->flat, node->flat_variance,
						tree->unit, tree->is_estimate);
	struct units_text cum = units_estimate(node->cum, node->cum_variance,
					       tree->unit, tree->is_estimate);
	for (int i = 0; i < 3 * COLUMN + 24; i++)
		putchar('-');
	puts("-+-------------");
	print_edges(tree, node, true);
	heading_right(flat.text, COLUMN);
	heading_right(units_percent(node->flat, tree->total).text, 8);
	heading_right(cum.text, COLUMN);
	heading_right(units_percent(node->cum, tree->total).text, 8);
	heading_right("", COLUMN + 8);
	printf(" | %s%s%s\n", view_colour(tree->view, node->cum, tree->total),
	       node->name, view_colour_end(tree->view));
	print_edges(tree, node, false);
}

static void
json_edges(struct tree *tree, const struct graph_node *node, bool callers)
{
	size_t count = collect_edges(tree, node->number, callers);
	printf(",\"%s\":[", callers ? "callers" : "callees");
	for (size_t i = 0; i < count; i++) {
		const struct graph_edge *edge = tree->edges[i];
		uint32_t other = callers ? edge->caller : edge->callee;
		fputs(i ? ",{\"name\":" : "{\"name\":", stdout);
		json_string(stdout, tree->graph->nodes[other].name);
		fputs(",\"value\":", stdout);
		json_number(stdout, edge->value);
		fputs(",\"standard_error\":", stdout);
		json_number(stdout, sqrt(edge->variance));
		putchar('}');
	}
	putchar(']');
}

static void
json_node(struct tree *tree, const struct graph_node *node, bool first)
{
	fputs(first ? "\n{\"name\":" : ",\n{\"name\":", stdout);
	json_string(stdout, node->name);
	fputs(",\"flat\":", stdout);
	json_number(stdout, node->flat);
	fputs(",\"flat_standard_error\":", stdout);
	json_number(stdout, sqrt(node->flat_variance));
	fputs(",\"cum\":", stdout);
	json_number(stdout, node->cum);
	fputs(",\"cum_standard_error\":", stdout);
	json_number(stdout, sqrt(node->cum_variance));
	json_edges(tree, node, true);
	json_edges(tree, node, false);
	putchar('}');
}

static void
print_head(const struct tree *tree)
{
	heading_print(tree->samples, tree->type);
	printf("Total: %s\n",
	       units_estimate(tree->total,
			      tree->samples->total_variances[tree->type],
			      tree->unit, tree->is_estimate)
		       .text);
	if (tree->is_estimate)
		puts("Sampled: ± is one standard error");
	heading_right("flat", COLUMN);
	heading_right("flat%", 8);
	heading_right("cum", COLUMN);
	heading_right("cum%", 8);
	heading_right("calls", COLUMN);
	heading_right("calls%", 8);
	puts(" | context");
}

/* Returns how many functions were shown. */
static size_t
print_nodes(struct tree *tree, const regex_t *which)
{
	struct graph *graph = tree->graph;
	size_t shown = 0, most = tree->view->node_count;
	if (tree->view->json) {
		heading_json(tree->samples, tree->type);
		fputs(",\"functions\":[", stdout);
	} else {
		print_head(tree);
	}
	for (size_t i = 0; i < graph->node_count; i++) {
		const struct graph_node *node = &graph->nodes[graph->order[i]];
		if (node->cum == 0 || (most && shown == most) ||
		    (which && regexec(which, node->name, 0, NULL, 0)))
			continue;
		if (tree->view->json)
			json_node(tree, node, !shown);
		else
			print_node(tree, node);
		shown++;
	}
	if (tree->view->json)
		puts("\n]}");
	return shown;
}

static int
show(struct view *view, const struct profile *profile, const regex_t *which,
     const char *pattern)
{
	struct tree tree = { .view = view, .type = view_type(view, profile) };
	if (tree.type < 0)
		return COMMAND_FAILED;
	struct samples *samples = samples_make(profile, &view->filter, NULL);
	tree.samples = samples;
	tree.graph = graph_make(samples, tree.type);
	tree.unit = profile_text(profile,
				 profile->pb->sample_type[tree.type]->unit);
	tree.total = samples->totals[tree.type];
	tree.is_estimate = estimate_is_one(profile, tree.type);
	tree.edges = memory_get(tree.graph->edge_count * sizeof(*tree.edges));
	graph_sort(tree.graph, view->by_cum);
	view_output_begin(view);
	size_t shown = print_nodes(&tree, which);
	int status = view_output_end(view);
	if (!status && which && !shown)
		status = command_fail("%s: no function matches '%s'",
				      profile->path, pattern);
	free(tree.edges);
	graph_free(tree.graph);
	samples_free(samples);
	return status;
}

static int
run(int argc, char **argv)
{
	struct view view;
	struct profile *profile;
	regex_t pattern;
	bool is_peek = !strcmp(argv[0], "peek");
	view_init(&view);
	view.by_cum = !is_peek;
	int status = view_parse(&view, argc, argv);
	if (!status && optind + 1 + is_peek != argc)
		status = command_misused(is_peek ? "peek: a pattern and a file "
						   "are wanted"
						 : "tree: one file is wanted");
	if (!status && is_peek) {
		const char *text = argv[optind];
		if (regcomp(&pattern, text, REG_EXTENDED | REG_NOSUB))
			status = command_misused("peek: '%s' is no regular "
						 "expression",
						 text);
	}
	if (status) {
		view_end(&view);
		return status;
	}
	status = view_read(&view, argv[argc - 1], &profile);
	if (!status) {
		status = show(&view, profile, is_peek ? &pattern : NULL,
			      argv[optind]);
		profile_free(profile);
	}
	if (is_peek)
		regfree(&pattern);
	view_end(&view);
	return status;
}

const struct command command_tree = {
	.name = "tree",
	.arguments = "FILE",
	.summary = "Each function with its callers and callees",
	.options = OPTIONS_VIEW_HELP OPTIONS_SYMBOLIZER_HELP,
	.run = run,
};

const struct command command_peek = {
	.name = "peek",
	.arguments = "REGEX FILE",
	.summary = "Callers and callees of the functions that match",
	.options = OPTIONS_VIEW_HELP OPTIONS_SYMBOLIZER_HELP,
	.run = run,
};
