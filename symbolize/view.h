/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - what the views have in common: options, input, output.
 */
#ifndef HEAPAGENT_VIEW_H
#define HEAPAGENT_VIEW_H

#include "options.h"
#include "samples.h"
#include "terminal.h"

struct view {
	struct symbolizer_options symbolizer;
	struct samples_filter filter;
	const char *sample_type; /* NULL: the profile's default */
	size_t node_count;	 /* 0: all */
	bool node_count_given;
	bool by_cum;
	bool json;
	bool lost; /* set by view_read(): a file could not be read */
	struct terminal terminal;
};

#define VIEW_NODE_COUNT 80 /* as go tool pprof */

/* Which samples, and how they are named; and how a table is made of them. */
extern const struct option_row view_options[];
extern const struct option_row view_table_options[];

void view_init(struct view *view);

/* Takes those options, and options_symbolizer, into a struct view. */
options_set view_set;

/*
 * What those commands have in common: reads the options, then runs body on the
 * arguments, if there are `count`; ends the view. The exit status.
 */
int view_run(struct view *view, const struct command *command, int argc,
	     char **argv, int count,
	     int (*body)(struct view *view, char **arguments));

/*
 * Reads a profile and gives its addresses names where they have none. No text
 * in it has anything then that a terminal would obey. COMMAND_OK or
 * COMMAND_FAILED, said why.
 */
int view_read(struct view *view, const char *path, struct profile **profile);

/* The same in two steps, for who needs the texts as the file has them. */
int view_read_raw(struct view *view, const char *path,
		  struct profile **profile);
void view_make_printable(struct profile *profile);

/* The sample type to show, or -1 after the reason was said. */
int view_type(const struct view *view, const struct profile *profile);

/*
 * COMMAND_FAILED, the reason said, if --focus and --ignore leave no stack that
 * a person could be shown; programs get an empty list.
 */
int view_check_filter(const struct view *view, const struct samples *samples);

/* "Sampled: ± is one standard error", if it is so. */
void view_print_estimate_note(bool is_estimate);

/* See terminal_begin(): after it, no more may go wrong. */
void view_output_begin(struct view *view);

/*
 * Waits for the reader. COMMAND_OK, or COMMAND_FAILED if output was lost or
 * names are missing because a file could not be read.
 */
int view_output_end(struct view *view);

/* As perf: what has 5 % of the total is red, 0.5 % green. "" without colour. */
const char *view_colour(const struct view *view, double part, double total);
const char *view_colour_end(const struct view *view);

/* Frees what options took. */
void view_end(struct view *view);

#endif
