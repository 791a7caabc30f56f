/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_top.c - `heapagent top`: which functions hold most.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "estimate.h"
#include "graph.h"
#include "heading.h"
#include "json.h"
#include "units.h"
#include "view.h"

struct top {
	const struct view *view;
	const struct samples *samples;
	struct graph *graph;
	int type;
	const char *unit;
	double total;
	bool is_estimate;
	size_t shown; /* how many of graph->order */
};

/* Functions with nothing at all (left out by a filter) are not rows. */
static void
choose_rows(struct top *top)
{
	struct graph *graph = top->graph;
	size_t kept = 0;
	for (size_t i = 0; i < graph->node_count; i++) {
		const struct graph_node *node = &graph->nodes[graph->order[i]];
		if (node->flat != 0 || node->cum != 0)
			graph->order[kept++] = graph->order[i];
	}
	top->shown = kept;
	if (top->view->node_count && kept > top->view->node_count)
		top->shown = top->view->node_count;
}

static void
print_row(const struct top *top, const struct graph_node *node, double sum)
{
	struct units_text flat = units_estimate(node->flat, node->flat_variance,
						top->unit, top->is_estimate);
	struct units_text cum = units_estimate(node->cum, node->cum_variance,
					       top->unit, top->is_estimate);
	int width = top->is_estimate ? 18 : 11;
	heading_right(flat.text, width);
	heading_right(units_percent(node->flat, top->total).text, 8);
	heading_right(units_percent(sum, top->total).text, 8);
	heading_right(cum.text, width + 1);
	heading_right(units_percent(node->cum, top->total).text, 8);
	printf("  %s%s%s\n", view_colour(top->view, node->flat, top->total),
	       node->name, view_colour_end(top->view));
}

static void
print_text(const struct top *top)
{
	double sum = 0, shown_sum = 0;
	int width = top->is_estimate ? 18 : 11;
	const uint32_t *order = top->graph->order;
	heading_print(top->samples, top->type);
	for (size_t i = 0; i < top->shown; i++)
		shown_sum += top->graph->nodes[order[i]].flat;
	printf("Showing %zu functions with %s, %s of %s in total\n", top->shown,
	       units_value(shown_sum, top->unit).text,
	       units_percent(shown_sum, top->total).text,
	       units_estimate(top->total,
			      top->samples->total_variances[top->type],
			      top->unit, top->is_estimate)
		       .text);
	if (top->is_estimate)
		puts("Sampled: ± is one standard error");
	heading_right("flat", width);
	heading_right("flat%", 8);
	heading_right("sum%", 8);
	heading_right("cum", width + 1);
	heading_right("cum%", 8);
	puts("  name");
	for (size_t i = 0; i < top->shown; i++) {
		const struct graph_node *node = &top->graph->nodes[order[i]];
		sum += node->flat;
		print_row(top, node, sum);
	}
}

static void
print_member(const char *name, double value)
{
	printf(",\"%s\":", name);
	json_number(stdout, value);
}

static void
print_json(const struct top *top)
{
	heading_json(top->samples, top->type);
	fputs(",\"functions\":[", stdout);
	for (size_t i = 0; i < top->shown; i++) {
		const struct graph_node *node =
			&top->graph->nodes[top->graph->order[i]];
		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", stdout);
		json_string(stdout, node->name);
		print_member("flat", node->flat);
		print_member("flat_standard_error", sqrt(node->flat_variance));
		print_member("cum", node->cum);
		print_member("cum_standard_error", sqrt(node->cum_variance));
		putchar('}');
	}
	puts("\n]}");
}

static int
show(struct view *view, const struct profile *profile)
{
	struct top top = { .view = view };
	top.type = view_type(view, profile);
	if (top.type < 0)
		return COMMAND_FAILED;
	struct samples *samples = samples_make(profile, &view->filter, NULL);
	top.samples = samples;
	top.graph = graph_make(samples, top.type);
	top.unit =
		profile_text(profile, profile->pb->sample_type[top.type]->unit);
	top.total = samples->totals[top.type];
	top.is_estimate = estimate_is_one(profile, top.type);
	graph_sort(top.graph, view->by_cum);
	choose_rows(&top);
	view_output_begin(view);
	if (view->json)
		print_json(&top);
	else
		print_text(&top);
	int status = view_output_end(view);
	graph_free(top.graph);
	samples_free(samples);
	return status;
}

static int
run(int argc, char **argv)
{
	struct view view;
	struct profile *profile;
	view_init(&view);
	int status = view_parse(&view, argc, argv);
	if (!status && optind + 1 != argc)
		status = command_misused("top: one file is wanted");
	if (!status)
		status = view_read(&view, argv[optind], &profile);
	if (!status) {
		status = show(&view, profile);
		profile_free(profile);
	}
	view_end(&view);
	return status;
}

const struct command command_top = {
	.name = "top",
	.arguments = "FILE",
	.summary = "The functions that hold most",
	.options = OPTIONS_VIEW_HELP OPTIONS_SYMBOLIZER_HELP,
	.run = run,
};
