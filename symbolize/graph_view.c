/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_view.c - what top, tree and peek have in common; see graph_view.h.
 */
#include "graph_view.h"

#include <math.h>
#include <stdio.h>

#include "estimate.h"
#include "json.h"

static int
show(struct view *view, const struct profile *profile, graph_view_print *print,
     void *context)
{
	int type = view_type(view, profile);
	if (type < 0)
		return COMMAND_FAILED;
	struct samples *samples = samples_make(profile, &view->filter, NULL);
	struct graph_view graph_view = {
		.view = view,
		.samples = samples,
		.graph = graph_make(samples, type),
		.type = type,
		.unit = profile_text(profile,
				     profile->pb->sample_type[type]->unit),
		.total = samples->totals[type],
		.is_estimate = estimate_is_one(profile, type),
	};
	graph_sort(graph_view.graph, view->by_cum);
	int status = view_check_filter(view, samples);
	if (!status)
		status = print(&graph_view, context);
	graph_free(graph_view.graph);
	samples_free(samples);
	return status;
}

int
graph_view_show(struct view *view, const char *path, graph_view_print *print,
		void *context)
{
	struct profile *profile;
	int status = view_read(view, path, &profile);
	if (status)
		return status;
	status = show(view, profile, print, context);
	profile_free(profile);
	return status;
}

struct units_text
graph_view_text(const struct graph_view *graph_view, double value,
		double variance)
{
	return units_estimate(value, variance, graph_view->unit,
			      graph_view->is_estimate);
}

static int
width(const struct graph_view *graph_view)
{
	return graph_view->is_estimate ? 18 : 11;
}

static int
narrow_width(const struct graph_view *graph_view)
{
	return graph_view->is_estimate ? 13 : 8;
}

void
graph_view_figures(const struct graph_view *graph_view, double value,
		   double variance, double total)
{
	const struct terminal *terminal = &graph_view->view->terminal;
	terminal_figure(terminal,
			graph_view_text(graph_view, value, variance).text,
			width(graph_view), narrow_width(graph_view));
	terminal_figure(terminal, units_percent(value, total).text, 8, 7);
}

void
graph_view_titles(const struct graph_view *graph_view, const char *value,
		  const char *percent)
{
	const struct terminal *terminal = &graph_view->view->terminal;
	terminal_figure(terminal, value, width(graph_view),
			narrow_width(graph_view));
	terminal_figure(terminal, percent, 8, 7);
}

void
graph_view_empty(const struct graph_view *graph_view)
{
	const struct samples *samples = graph_view->samples;
	const struct pb_profile *pb = samples->profile->pb;
	const char *more = "";
	printf("No function has any %s",
	       profile_text(samples->profile,
			    pb->sample_type[graph_view->type]->type));
	for (size_t i = 0; i < samples->type_count; i++) {
		const struct pb_value_type *type = pb->sample_type[i];
		if (samples->totals[i] == 0)
			continue;
		printf("%s%s of %s", *more ? more : "; there are ",
		       units_value(samples->totals[i],
				   profile_text(samples->profile, type->unit))
			       .text,
		       profile_text(samples->profile, type->type));
		more = ", ";
	}
	puts(*more ? " (--sample_index)" : "");
}

void
graph_view_json(const struct graph_node *node, bool first)
{
	fputs(first ? "\n{\"name\":" : ",\n{\"name\":", stdout);
	json_string(stdout, node->name);
	json_member(stdout, "flat", node->flat);
	json_member(stdout, "flat_standard_error", sqrt(node->flat_variance));
	json_member(stdout, "cum", node->cum);
	json_member(stdout, "cum_standard_error", sqrt(node->cum_variance));
}
