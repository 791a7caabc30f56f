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
	size_t kept = 0;
	for (size_t i = 0; i < graph->node_count; i++) {
		const struct graph_node *node = &graph->nodes[graph->order[i]];
		if (node->flat != 0 || node->cum != 0)
			graph->order[kept++] = graph->order[i];
	}
	return kept;
}

static void
print_row(const struct graph_view *top, const struct graph_node *node,
	  double sum)
{
	graph_view_figures(top, node->flat, node->flat_variance, top->total);
	terminal_figure(&top->view->terminal,
			units_percent(sum, top->total).text, 8, 7);
	graph_view_figures(top, node->cum, node->cum_variance, top->total);
	printf("  %s%s%s\n", view_colour(top->view, node->flat, top->total),
	       node->name, view_colour_end(top->view));
}

/* "Showing 80 of 3036 functions with 1.2 MiB, 99.1 % of 1.2 MiB in total". */
static void
print_sum(const struct graph_view *top, size_t count, size_t of)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += top->graph->nodes[top->graph->order[i]].flat;
	printf("Showing %zu ", count);
	if (count < of)
		printf("of %zu ", of);
	printf("function%s with %s, %s of %s in total\n", of == 1 ? "" : "s",
	       units_value(sum, top->unit).text,
	       units_percent(sum, top->total).text,
	       graph_view_text(top, top->total,
			       top->samples->total_variances[top->type])
		       .text);
	view_print_estimate_note(top->is_estimate);
}

static void
print_text(const struct graph_view *top, size_t count, size_t of)
{
	double sum = 0;
	heading_print(top->samples, top->type);
	if (!of) {
		graph_view_empty(top);
		return;
	}
	print_sum(top, count, of);
	graph_view_titles(top, "flat", "flat%");
	terminal_figure(&top->view->terminal, "sum%", 8, 7);
	graph_view_titles(top, "cum", "cum%");
	puts("  name");
	for (size_t i = 0; i < count; i++) {
		const struct graph_node *node =
			&top->graph->nodes[top->graph->order[i]];
		sum += node->flat;
		print_row(top, node, sum);
	}
}

static void
print_json(const struct graph_view *top, size_t count, size_t of)
{
	heading_json(top->samples, top->type);
	printf(",\"omitted\":%zu,\"functions\":[", of - count);
	for (size_t i = 0; i < count; i++) {
		graph_view_json(&top->graph->nodes[top->graph->order[i]],
				i == 0);
		putchar('}');
	}
	puts("\n]}");
}

static int
print(struct graph_view *top, void *context)
{
	size_t of = choose_rows(top), most = top->view->node_count;
	size_t count = most && most < of ? most : of;
	(void)context;
	view_output_begin(top->view);
	(top->view->json ? print_json : print_text)(top, count, of);
	return view_output_end(top->view);
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
