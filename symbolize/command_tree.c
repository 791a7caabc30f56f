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

#define COLUMN 18

/* All calls, those of (or to) each node together, the greatest first. */
struct calls {
	const struct graph_edge **edges;
	size_t *begin; /* by node: where its calls begin; and the end of all */
};

struct tree {
	const struct graph_view *graph_view;
	const regex_t *which; /* only these functions; NULL: all */
	size_t shown;
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
		heading_right("", 2 * COLUMN + 16);
		heading_right(
			graph_view_text(all, edge->value, edge->variance).text,
			COLUMN);
		heading_right(units_percent(edge->value, node->cum).text, 8);
		printf(" |   %s\n", all->graph->nodes[other].name);
	}
}

static void
print_node(struct tree *tree, const struct graph_node *node)
{
	const struct graph_view *all = tree->graph_view;
	for (int i = 0; i < 3 * COLUMN + 24; i++)
		putchar('-');
	puts("-+-------------");
	print_edges(tree, node, true);
	heading_right(
		graph_view_text(all, node->flat, node->flat_variance).text,
		COLUMN);
	heading_right(units_percent(node->flat, all->total).text, 8);
	heading_right(graph_view_text(all, node->cum, node->cum_variance).text,
		      COLUMN);
	heading_right(units_percent(node->cum, all->total).text, 8);
	heading_right("", COLUMN + 8);
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
json_node(struct tree *tree, const struct graph_node *node)
{
	graph_view_json(node, tree->shown == 0);
	json_edges(tree, node, true);
	json_edges(tree, node, false);
	putchar('}');
}

static void
print_head(const struct graph_view *all)
{
	heading_print(all->samples, all->type);
	printf("Total: %s\n",
	       graph_view_text(all, all->total,
			       all->samples->total_variances[all->type])
		       .text);
	if (all->is_estimate)
		puts("Sampled: ± is one standard error");
	heading_right("flat", COLUMN);
	heading_right("flat%", 8);
	heading_right("cum", COLUMN);
	heading_right("cum%", 8);
	heading_right("calls", COLUMN);
	heading_right("calls%", 8);
	puts(" | context");
}

static void
print(struct graph_view *all, void *context)
{
	struct tree *tree = context;
	const struct graph *graph = all->graph;
	const bool json = all->view->json;
	size_t most = all->view->node_count;
	tree->graph_view = all;
	tree->callers = sort_calls(graph, true);
	tree->callees = sort_calls(graph, false);
	if (json) {
		heading_json(all->samples, all->type);
		fputs(",\"functions\":[", stdout);
	} else {
		print_head(all);
	}
	for (size_t i = 0; i < graph->node_count; i++) {
		const struct graph_node *node = &graph->nodes[graph->order[i]];
		if (node->cum == 0 || (most && tree->shown == most) ||
		    (tree->which &&
		     regexec(tree->which, node->name, 0, NULL, 0)))
			continue;
		(json ? json_node : print_node)(tree, node);
		tree->shown++;
	}
	if (json)
		puts("\n]}");
	calls_free(&tree->callers);
	calls_free(&tree->callees);
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
	const char *pattern = arguments[0], *path = arguments[1];
	struct tree tree = { .which = NULL };
	regex_t which;
	const char *accepted = view_regex(pattern, &which);
	if (accepted)
		return command_misused("peek: REGEX '%s' is not accepted; it "
				       "takes %s",
				       pattern, accepted);
	tree.which = &which;
	int status = graph_view_show(view, path, print, &tree);
	regfree(&which);
	if (!status && !tree.shown)
		status = command_fail("%s: no function matches '%s'", path,
				      pattern);
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
