/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_view.h - what top, tree and peek have in common: the functions of one
 * profile for one sample type, in order.
 */
#ifndef HEAPAGENT_GRAPH_VIEW_H
#define HEAPAGENT_GRAPH_VIEW_H

#include "graph.h"
#include "units.h"
#include "view.h"

struct graph_view {
	struct view *view;
	const struct samples *samples;
	struct graph *graph; /* sorted */
	int type;
	const char *unit;
	double total;
	bool is_estimate;
};

/* Between view_output_begin() and view_output_end(). The exit status. */
typedef int graph_view_print(struct graph_view *graph_view, void *context);

/*
 * Reads the profile and has it printed to standard output, which may be a
 * pager then. COMMAND_OK, or COMMAND_FAILED, the reason said.
 */
int graph_view_show(struct view *view, const char *path,
		    graph_view_print *print, void *context);

/* "1.24 GiB ±3.1 %" in the unit of the sample type. */
struct units_text graph_view_text(const struct graph_view *graph_view,
				  double value, double variance);

/* The figure with its error, and its part of a total, as columns of a row. */
void graph_view_figures(const struct graph_view *graph_view, double value,
			double variance, double total);
void graph_view_titles(const struct graph_view *graph_view, const char *value,
		       const char *percent);

/* Where no function has anything: says so, and which sample type has. */
void graph_view_empty(const struct graph_view *graph_view);

/* Opens a JSON object with a function's name and figures, without its end. */
void graph_view_json(const struct graph_node *node, bool first);

#endif
