/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_top.c - `heapagent top`: which functions hold most.
 */
#include <getopt.h>
#include <stdio.h>

#include "command.h"
#include "graph_view.h"
#include "heading.h"
#include "units.h"
#include "view.h"

/* Functions with nothing at all (left out by a filter) are not rows. */
static size_t
choose_rows(struct graph_view *top)
{
	struct graph *graph = top->graph;
	size_t most = top->view->node_count, kept = 0;
	for (size_t i = 0; i < graph->node_count; i++) {
		const struct graph_node *node = &graph->nodes[graph->order[i]];
		if (node->flat != 0 || node->cum != 0)
			graph->order[kept++] = graph->order[i];
	}
	return most && kept > most ? most : kept;
}

static void
print_row(const struct graph_view *top, const struct graph_node *node,
	  double sum)
{
	int width = top->is_estimate ? 18 : 11;
	heading_right(
		graph_view_text(top, node->flat, node->flat_variance).text,
		width);
	heading_right(units_percent(node->flat, top->total).text, 8);
	heading_right(units_percent(sum, top->total).text, 8);
	heading_right(graph_view_text(top, node->cum, node->cum_variance).text,
		      width + 1);
	heading_right(units_percent(node->cum, top->total).text, 8);
	printf("  %s%s%s\n", view_colour(top->view, node->flat, top->total),
	       node->name, view_colour_end(top->view));
}

static void
print_text(const struct graph_view *top, size_t count)
{
	double sum = 0, shown_sum = 0;
	int width = top->is_estimate ? 18 : 11;
	const uint32_t *order = top->graph->order;
	heading_print(top->samples, top->type);
	for (size_t i = 0; i < count; i++)
		shown_sum += top->graph->nodes[order[i]].flat;
	printf("Showing %zu functions with %s, %s of %s in total\n", count,
	       units_value(shown_sum, top->unit).text,
	       units_percent(shown_sum, top->total).text,
	       graph_view_text(top, top->total,
			       top->samples->total_variances[top->type])
		       .text);
	if (top->is_estimate)
		puts("Sampled: ± is one standard error");
	heading_right("flat", width);
	heading_right("flat%", 8);
	heading_right("sum%", 8);
	heading_right("cum", width + 1);
	heading_right("cum%", 8);
	puts("  name");
	for (size_t i = 0; i < count; i++) {
		const struct graph_node *node = &top->graph->nodes[order[i]];
		sum += node->flat;
		print_row(top, node, sum);
	}
}

static void
print_json(const struct graph_view *top, size_t count)
{
	heading_json(top->samples, top->type);
	fputs(",\"functions\":[", stdout);
	for (size_t i = 0; i < count; i++) {
		graph_view_json(&top->graph->nodes[top->graph->order[i]],
				i == 0);
		putchar('}');
	}
	puts("\n]}");
}

static void
print(struct graph_view *top, void *context)
{
	(void)context;
	(top->view->json ? print_json : print_text)(top, choose_rows(top));
}

static int
top(struct view *view, char **arguments)
{
	return graph_view_show(view, arguments[0], print, NULL);
}

static int
run(int argc, char **argv)
{
	struct view view;
	view_init(&view);
	return view_run(&view, &command_top, argc, argv, 1, top);
}

static const struct option_row *const options[] = {
	view_options,
	view_table_options,
	options_symbolizer,
	NULL,
};

const struct command command_top = {
	.name = "top",
	.arguments = "FILE",
	.summary = "The functions that hold most",
	.options = options,
	.run = run,
};
