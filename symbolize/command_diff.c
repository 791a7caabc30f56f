/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_diff.c - `heapagent diff`: what grew between two profiles.
 *
 * The standard error of a growth is that of the difference of two independent
 * estimates. Two dumps of one process share the samples that lived through
 * both, whose error cancels: the true one is then smaller.
 */
#include <getopt.h>
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

struct growth {
	const char *name;
	double before, after;
	double flat, flat_variance;
	double cum, cum_variance;
};

struct diff {
	struct view *view;
	const struct samples *before, *after;
	int before_type, type;
	const char *unit;
	bool is_estimate;
	struct growth *rows;
	size_t count, omitted;
};

static int
compare(const void *a, const void *b, void *data)
{
	const bool *by_cum = data;
	const struct growth *x = a, *y = b;
	double first = fabs(*by_cum ? y->cum : y->flat) -
		       fabs(*by_cum ? x->cum : x->flat);
	double second = fabs(*by_cum ? y->flat : y->cum) -
			fabs(*by_cum ? x->flat : x->cum);
	if (first != 0)
		return first < 0 ? -1 : 1;
	if (second != 0)
		return second < 0 ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* The later samples continue the numbering of the earlier ones. */
static void
subtract(struct diff *diff)
{
	struct graph *before = graph_make(diff->before, diff->before_type);
	struct graph *after = graph_make(diff->after, diff->type);
	diff->rows = memory_get(after->node_count * sizeof(*diff->rows));
	for (size_t i = 0; i < after->node_count; i++) {
		const struct graph_node *new = &after->nodes[i];
		struct growth *row = &diff->rows[diff->count];
		*row = (struct growth){
			.name = new->name,
			.after = new->cum,
			.flat = new->flat,
			.flat_variance = new->flat_variance,
			.cum = new->cum,
			.cum_variance = new->cum_variance,
		};
		if (i < before->node_count) {
			const struct graph_node *old = &before->nodes[i];
			row->before = old->cum;
			row->flat -= old->flat;
			row->flat_variance += old->flat_variance;
			row->cum -= old->cum;
			row->cum_variance += old->cum_variance;
		}
		if (row->flat != 0 || row->cum != 0)
			diff->count++;
	}
	if (diff->count)
		qsort_r(diff->rows, diff->count, sizeof(*diff->rows), compare,
			&diff->view->by_cum);
	size_t most = diff->view->node_count;
	if (most && diff->count > most) {
		diff->omitted = diff->count - most;
		diff->count = most;
	}
	graph_free(before);
	graph_free(after);
}

/* "+1.2 MiB ±30 KiB": of a difference, percents would mislead. */
static void
print_change(const struct diff *diff, double value, double variance)
{
	char text[UNITS_CHANGE_BYTES];
	const char *sign = "", *error = "";
	struct units_text change = units_change(value, diff->unit);
	struct units_text deviation = units_value(sqrt(variance), diff->unit);
	if (diff->is_estimate && variance > 0) {
		sign = units_plus_minus();
		error = deviation.text;
	}
	snprintf(text, sizeof(text), "%s%s%s%s", change.text, *sign ? " " : "",
		 sign, error);
	terminal_figure(&diff->view->terminal, text,
			diff->is_estimate ? 24 : 12,
			diff->is_estimate ? 18 : 10);
}

static void
print_head(const struct diff *diff)
{
	const struct terminal *terminal = &diff->view->terminal;
	double before = diff->before->totals[diff->before_type];
	double after = diff->after->totals[diff->type];
	double variance = diff->before->total_variances[diff->before_type] +
			  diff->after->total_variances[diff->type];
	heading_print(diff->after, diff->type);
	printf("Total: %s %s %s:", units_value(before, diff->unit).text,
	       units_arrow(), units_value(after, diff->unit).text);
	print_change(diff, after - before, variance);
	putchar('\n');
	if (diff->is_estimate)
		printf("Sampled: %s is one standard error at most (less, where "
		       "both saw the same blocks)\n",
		       units_plus_minus());
	if (!diff->count) {
		puts("No function grew or shrank");
		return;
	}
	if (diff->omitted)
		printf("Showing %zu of %zu functions\n", diff->count,
		       diff->count + diff->omitted);
	terminal_figure(terminal, "growth", diff->is_estimate ? 24 : 12,
			diff->is_estimate ? 18 : 10);
	terminal_figure(terminal, terminal->narrow ? "cum" : "growth cum",
			diff->is_estimate ? 25 : 13,
			diff->is_estimate ? 19 : 11);
	if (!terminal->narrow)
		terminal_figure(terminal, "cum before", 12, 12);
	terminal_figure(terminal, "after", 12, 8);
	puts("  name");
}

static void
print_text(const struct diff *diff)
{
	const struct terminal *terminal = &diff->view->terminal;
	print_head(diff);
	for (size_t i = 0; i < diff->count; i++) {
		const struct growth *row = &diff->rows[i];
		struct units_text before = units_value(row->before, diff->unit);
		struct units_text after = units_value(row->after, diff->unit);
		print_change(diff, row->flat, row->flat_variance);
		putchar(' ');
		print_change(diff, row->cum, row->cum_variance);
		/* It is the difference of those beside it. */
		if (!terminal->narrow)
			terminal_figure(terminal, before.text, 12, 12);
		terminal_figure(terminal, after.text, 12, 8);
		const char *colour = !terminal->colour ? ""
				     : row->cum > 0    ? "\033[31m"
						       : "\033[34m";
		printf("  %s%s%s\n", colour, row->name,
		       view_colour_end(diff->view));
	}
}

static void
print_json(const struct diff *diff)
{
	heading_json(diff->after, diff->type);
	fputs(",\"base\":", stdout);
	json_string(stdout, diff->before->profile->path);
	json_member(stdout, "base_total",
		    diff->before->totals[diff->before_type]);
	printf(",\"omitted\":%zu,\"functions\":[", diff->omitted);
	for (size_t i = 0; i < diff->count; i++) {
		const struct growth *row = &diff->rows[i];
		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", stdout);
		json_string(stdout, row->name);
		json_member(stdout, "flat", row->flat);
		json_member(stdout, "flat_standard_error",
			    sqrt(row->flat_variance));
		json_member(stdout, "cum", row->cum);
		json_member(stdout, "cum_standard_error",
			    sqrt(row->cum_variance));
		json_member(stdout, "cum_before", row->before);
		json_member(stdout, "cum_after", row->after);
		putchar('}');
	}
	puts("\n]}");
}

static int
show(struct view *view, const struct profile *a, const struct profile *b)
{
	struct diff diff = { .view = view };
	diff.type = view_type(view, b);
	if (diff.type < 0)
		return COMMAND_FAILED;
	const struct pb_value_type *value = b->pb->sample_type[diff.type];
	const char *name = profile_text(b, value->type);
	diff.before_type = profile_sample_type(a, name);
	if (diff.before_type < 0)
		return command_fail("%s: no sample type '%s', which %s has",
				    a->path, name, b->path);
	diff.unit = profile_text(b, value->unit);
	diff.is_estimate = estimate_is_one(b, diff.type) ||
			   estimate_is_one(a, diff.before_type);
	struct samples *before = samples_make(a, &view->filter, NULL);
	struct samples *after = samples_make(b, &view->filter, before);
	diff.before = before;
	diff.after = after;
	subtract(&diff);
	int status =
		before->row_count ? COMMAND_OK : view_check_filter(view, after);
	if (!status) {
		view_output_begin(view);
		(view->json ? print_json : print_text)(&diff);
		status = view_output_end(view);
	}
	free(diff.rows);
	samples_free(before);
	samples_free(after);
	return status;
}

static int
diff(struct view *view, char **arguments)
{
	struct profile *a = NULL, *b = NULL;
	int status = view_read(view, arguments[0], &a);
	if (!status)
		status = view_read(view, arguments[1], &b);
	if (!status)
		status = show(view, a, b);
	profile_free(a);
	profile_free(b);
	return status;
}

static int
run(int argc, char **argv)
{
	struct view view;
	view_init(&view);
	return view_run(&view, &command_diff, argc, argv, 2, diff);
}

static const struct option_row *const options[] = {
	view_options,
	view_table_options,
	options_symbolizer,
	NULL,
};

const struct command command_diff = {
	.name = "diff",
	.arguments = "BEFORE AFTER",
	.summary = "What grew between two profiles, and what shrank",
	.options = options,
	.run = run,
};
