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
	bool colour; /* set by view_output_begin() */
	int pager_pid;
};

#define VIEW_NODE_COUNT 80 /* as go tool pprof */

enum {
	OPT_SAMPLE_TYPE = OPT_OWN + 100,
	OPT_TYPE_FIRST, /* --inuse_space and so on: OPT_TYPE_FIRST + i */
	OPT_TYPE_LAST = OPT_TYPE_FIRST + 3,
	OPT_FOCUS,
	OPT_IGNORE,
	OPT_NODE_COUNT,
	OPT_CUM,
	OPT_FLAT,
	OPT_JSON,
	OPT_FULL_NAMES,
};

#define OPTIONS_VIEW \
	OPTIONS_SYMBOLIZER, \
		{ "sample_index", required_argument, NULL, OPT_SAMPLE_TYPE }, \
		{ "alloc_objects", no_argument, NULL, OPT_TYPE_FIRST }, \
		{ "alloc_space", no_argument, NULL, OPT_TYPE_FIRST + 1 }, \
		{ "inuse_objects", no_argument, NULL, OPT_TYPE_FIRST + 2 }, \
		{ "inuse_space", no_argument, NULL, OPT_TYPE_LAST }, \
		{ "focus", required_argument, NULL, OPT_FOCUS }, \
		{ "ignore", required_argument, NULL, OPT_IGNORE }, \
		{ "nodecount", required_argument, NULL, OPT_NODE_COUNT }, \
		{ "cum", no_argument, NULL, OPT_CUM }, \
		{ "flat", no_argument, NULL, OPT_FLAT }, \
		{ "json", no_argument, NULL, OPT_JSON }, \
	{ \
		"full-names", no_argument, NULL, OPT_FULL_NAMES \
	}

#define OPTIONS_VIEW_HELP \
	"  --inuse_space --inuse_objects --alloc_space --alloc_objects, " \
	"--sample_index TYPE\n" \
	"  --focus REGEX     only stacks with such a function or file\n" \
	"  --ignore REGEX    no stacks with such a function or file\n" \
	"  --nodecount N     at most N functions (default 80; 0: all)\n" \
	"  --cum             order by what functions and their callees " \
	"hold\n" \
	"  --json            for programs\n" \
	"  --full-names      C++ names with arguments and parameters\n"

void view_init(struct view *view);

/*
 * Handles one option of OPTIONS_VIEW. COMMAND_OK, or COMMAND_USAGE after the
 * reason was said.
 */
int view_option(struct view *view, int option, char **argv);

/*
 * Reads a profile and gives its addresses names where they have none.
 * COMMAND_OK or COMMAND_FAILED, said why.
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

/* Waits for the reader. COMMAND_OK, or COMMAND_FAILED if output was lost. */
int view_output_end(struct view *view);

/* As perf: what has 5 % of the total is red, 0.5 % green. "" without colour. */
const char *view_colour(const struct view *view, double part, double total);
const char *view_colour_end(const struct view *view);

/* Frees what options took. */
void view_end(struct view *view);

#endif
