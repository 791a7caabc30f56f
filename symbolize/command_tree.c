/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_tree.c - `heapagent tree` and `peek`: callers and callees.
 *
 * In the form of go tool pprof -tree and -peek: for each function, its callers
 * above it and its callees below.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "graph_view.h"
#include "heading.h"
#include "json.h"
#include "memory.h"
#include "view.h"

/* All calls, those of (or to) each node together, the greatest first. */
struct calls {
	const struct graph_edge **edges;
	size_t *begin; /* by node: where its calls begin; and the end of all */
};

struct tree {
	const struct graph_view *graph_view;
	struct pattern *which; /* only these functions; NULL: all */
	size_t shown, count;
	struct calls callers, callees;
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

static uint32_t
node_of(const struct graph_edge *edge, bool callers)
{
	return callers ? edge->callee : edge->caller;
}

static struct calls
sort_calls(const struct graph *graph, bool callers)
{
	size_t nodes = graph->node_count;
	struct calls calls = {
		memory_get((graph->edge_count + 1) * sizeof(*calls.edges)),
		memory_get((nodes + 2) * sizeof(*calls.begin)),
	};
	/* Two places on: each becomes the next one's begin as it fills. */
	size_t *next = calls.begin + 1;
	for (size_t i = 0; i < graph->edge_count; i++)
		next[node_of(&graph->edges[i], callers) + 1]++;
	for (size_t i = 0; i < nodes; i++)
		next[i + 1] += next[i];
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct graph_edge *edge = &graph->edges[i];
		calls.edges[next[node_of(edge, callers)]++] = edge;
	}
	for (size_t i = 0; i < nodes; i++)
		qsort(calls.edges + calls.begin[i],
		      calls.begin[i + 1] - calls.begin[i], sizeof(*calls.edges),
		      compare_edges);
	return calls;
}

static void
calls_free(struct calls *calls)
{
	free(calls->edges);
	free(calls->begin);
}

static void
print_edges(struct tree *tree, const struct graph_node *node, bool callers)
{
	const struct graph_view *all = tree->graph_view;
	const struct calls *calls = callers ? &tree->callers : &tree->callees;
	size_t end = calls->begin[node->number + 1];
	for (size_t i = calls->begin[node->number]; i < end; i++) {
		const struct graph_edge *edge = calls->edges[i];
		uint32_t other = callers ? edge->caller : edge->callee;
		graph_view_titles(all, "", "");
		graph_view_figures(all, edge->value, edge->variance, node->cum);
		printf(" |   %s\n", all->graph->nodes[other].name);
	}
}

static void
print_node(struct tree *tree, const struct graph_node *node)
{
	const struct graph_view *all = tree->graph_view;
	terminal_rule(all->view->terminal.narrow ? 56 : 72);
	print_edges(tree, node, true);
	graph_view_figures(all, node->flat, node->flat_variance, all->total);
	graph_view_figures(all, node->cum, node->cum_variance, all->total);
	printf(" | %s%s%s\n", view_colour(all->view, node->cum, all->total),
	       node->name, view_colour_end(all->view));
	print_edges(tree, node, false);
}

static void
json_edges(struct tree *tree, const struct graph_node *node, bool callers)
{
	const struct calls *calls = callers ? &tree->callers : &tree->callees;
	size_t begin = calls->begin[node->number];
	size_t end = calls->begin[node->number + 1];
	printf(",\"%s\":[", callers ? "callers" : "callees");
	for (size_t i = begin; i < end; i++) {
		const struct graph_edge *edge = calls->edges[i];
		uint32_t other = callers ? edge->caller : edge->callee;
		fputs(i > begin ? ",{\"name\":" : "{\"name\":", stdout);
		json_string(stdout, tree->graph_view->graph->nodes[other].name);
		json_member(stdout, "value", edge->value);
		json_member(stdout, "standard_error", sqrt(edge->variance));
		putchar('}');
	}
	putchar(']');
}

static void
json_node(struct tree *tree, const struct graph_node *node, bool first)
{
	graph_view_json(node, first);
	json_edges(tree, node, true);
	json_edges(tree, node, false);
	putchar('}');
}

static void
print_head(struct tree *tree)
{
	const struct graph_view *all = tree->graph_view;
	heading_print(all->samples, all->type);
	printf("Total: %s\n",
	       graph_view_text(all, all->total,
			       all->samples->total_variances[all->type])
		       .text);
	view_print_estimate_note(all->is_estimate);
	if (!tree->count) {
		graph_view_empty(all);
		return;
	}
	if (tree->shown < tree->count)
		printf("Showing %zu of %zu functions\n", tree->shown,
		       tree->count);
	puts("Callers above it, callees below: cum is of the call, cum% of "
	     "the function");
	graph_view_titles(all, "flat", "flat%");
	graph_view_titles(all, "cum", "cum%");
	puts(" | context");
}

/* Those that are shown become the first ones of the order. */
static void
choose(struct tree *tree)
{
	struct graph *graph = tree->graph_view->graph;
	size_t most = tree->graph_view->view->node_count;
	for (size_t i = 0; i < graph->node_count; i++) {
		const struct graph_node *node = &graph->nodes[graph->order[i]];
		if (node->cum != 0 &&
		    (!tree->which || pattern_matches(tree->which, node->name)))
			graph->order[tree->count++] = graph->order[i];
	}
	tree->shown = most && most < tree->count ? most : tree->count;
}

static int
print(struct graph_view *all, void *context)
{
	struct tree *tree = context;
	const struct graph *graph = all->graph;
	const bool json = all->view->json;
	tree->graph_view = all;
	choose(tree);
	if (tree->which && !tree->count)
		return command_fail("%s: no function matches '%s'",
				    all->samples->profile->path,
				    pattern_source(tree->which));
	tree->callers = sort_calls(graph, true);
	tree->callees = sort_calls(graph, false);
	view_output_begin(all->view);
	if (json) {
		heading_json(all->samples, all->type);
		printf(",\"omitted\":%zu,\"functions\":[",
		       tree->count - tree->shown);
	} else {
		print_head(tree);
	}
	for (size_t i = 0; i < tree->shown; i++) {
		const struct graph_node *node = &graph->nodes[graph->order[i]];
		if (json)
			json_node(tree, node, i == 0);
		else
			print_node(tree, node);
	}
	if (json)
		puts("\n]}");
	calls_free(&tree->callers);
	calls_free(&tree->callees);
	return view_output_end(all->view);
}

static int
tree(struct view *view, char **arguments)
{
	struct tree whole = { .which = NULL };
	return graph_view_show(view, arguments[0], print, &whole);
}

static int
run_tree(int argc, char **argv)
{
	struct view view;
	view_init(&view);
	view.by_cum = true;
	return view_run(&view, &command_tree, argc, argv, 1, tree);
}

static int
peek(struct view *view, char **arguments)
{
	const char *source = arguments[0], *path = arguments[1];
	struct reason reason;
	struct pattern *which =
		pattern_new(source, PATTERN_ANYWHERE, "peek: REGEX", &reason);
	if (!which)
		return command_misused("peek: REGEX '%s' is not accepted; it "
				       "takes a regular expression (%s)",
				       source, reason.text);
	struct tree tree = { .which = which };
	int status = graph_view_show(view, path, print, &tree);
	pattern_free(which);
	return status;
}

static int
run_peek(int argc, char **argv)
{
	struct view view;
	view_init(&view);
	return view_run(&view, &command_peek, argc, argv, 2, peek);
}

static const struct option_row *const options[] = {
	view_options,
	view_table_options,
	options_symbolizer,
	NULL,
};

const struct command command_tree = {
	.name = "tree",
	.arguments = "FILE",
	.summary = "Each function with its callers and callees",
	.options = options,
	.run = run_tree,
};

const struct command command_peek = {
	.name = "peek",
	.arguments = "REGEX FILE",
	.summary = "Callers and callees of the functions that match",
	.options = options,
	.run = run_peek,
};
