/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - what the views have in common: options, input, output.
 */
#ifndef HEAPAGENT_VIEW_H
#define HEAPAGENT_VIEW_H

#include "options.h"
#include "samples.h"

struct view {
	struct symbolizer_options symbolizer;
	struct samples_filter filter;
	regex_t focus, ignore;
	const char *sample_type; /* NULL: the profile's default */
	size_t node_count;	 /* 0: all */
	bool by_cum;
	bool json;
	bool diff;	 /* --diff; only if takes_page_options */
	const char *out; /* -o; only if takes_page_options */
	bool takes_page_options;
	bool lost;   /* set by view_read(): a file could not be read */
	bool colour; /* set by view_output_begin() */
	int pager_pid;
};

#define VIEW_NODE_COUNT 80 /* as go tool pprof */

#define OPTIONS_VIEW_HELP \
	"  --inuse_space --inuse_objects --alloc_space --alloc_objects\n" \
	"  --sample_index TYPE: any other\n" \
	"  --focus REGEX     only stacks with such a function or file\n" \
	"  --ignore REGEX    no stacks with such a function or file\n" \
	"  --nodecount N     at most N functions (default 80; 0: all)\n" \
	"  --cum             order by what functions and their callees " \
	"hold\n" \
	"  --json            for programs\n" \
	"  --full-names      C++ names with arguments and parameters\n"

void view_init(struct view *view);

/*
 * Handles the options; optind is the first word after them then. COMMAND_OK,
 * or COMMAND_USAGE after the reason was said.
 */
int view_parse(struct view *view, int argc, char **argv);

/*
 * Reads a profile and gives its addresses names where they have none. No text
 * in it has anything then that a terminal would obey. COMMAND_OK or
 * COMMAND_FAILED, said why.
 */
int view_read(struct view *view, const char *path, struct profile **profile);

/* The sample type to show, or -1 after the reason was said. */
int view_type(const struct view *view, const struct profile *profile);

/*
 * Standard output goes through a pager from here on if it is a terminal, and
 * is coloured then. NO_COLOR and TERM=dumb turn colours off, PAGER= or
 * PAGER=cat the pager.
 */
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
