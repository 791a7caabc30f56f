/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.c - what the views have in common: options, input, output.
 */
#include "view.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "profile_check.h"
#include "units.h"
#include "utf8.h"

enum {
	OPT_SAMPLE_TYPE = OPT_VIEW,
	OPT_TYPE_FIRST, /* of heap_types[], one after the other */
	OPT_TYPE_LAST = OPT_TYPE_FIRST + 3,
	OPT_FOCUS,
	OPT_IGNORE,
	OPT_FULL_NAMES,
	OPT_NODE_COUNT,
	OPT_CUM,
	OPT_FLAT,
	OPT_JSON,
};

static const char *const heap_types[] = {
	"inuse_space",
	"inuse_objects",
	"alloc_space",
	"alloc_objects",
};

const struct option_row view_options[] = {
	{ OPT_TYPE_FIRST, "inuse_space", NULL, "bytes in use" },
	{ OPT_TYPE_FIRST + 1, "inuse_objects", NULL, "blocks in use" },
	{ OPT_TYPE_FIRST + 2, "alloc_space", NULL,
	  "bytes allocated since the start" },
	{ OPT_TYPE_LAST, "alloc_objects", NULL,
	  "blocks allocated since the start" },
	{ OPT_SAMPLE_TYPE, "sample_index", "TYPE",
	  "any sample type, by name or number" },
	{ OPT_FOCUS, "focus", "REGEX",
	  "only stacks with such a function or file" },
	{ OPT_IGNORE, "ignore", "REGEX",
	  "no stacks with such a function or file" },
	{ OPT_FULL_NAMES, "full-names", NULL,
	  "C++ names with arguments and parameters" },
	{ .name = NULL },
};

const struct option_row view_table_options[] = {
	{ OPT_NODE_COUNT, "nodecount", "N",
	  "at most N functions (80, with --json all; 0: all)" },
	{ OPT_FLAT, "flat", NULL, "order by what functions hold themselves" },
	{ OPT_CUM, "cum", NULL, "order by what they and their callees hold" },
	{ OPT_JSON, "json", NULL, "JSON, for programs" },
	{ .name = NULL },
};

void
view_init(struct view *view)
{
	*view = (struct view){ .node_count = VIEW_NODE_COUNT };
}

static const char *
compile(const char *source, const char *of, struct pattern **pattern)
{
	static char accepted[sizeof(struct reason) + 32];
	struct reason reason;
	if (*pattern)
		return "one regular expression (a|b is either)";
	*pattern = pattern_new(source, PATTERN_ANYWHERE, of, &reason);
	if (*pattern)
		return NULL;
	snprintf(accepted, sizeof(accepted), "a regular expression (%s)",
		 reason.text);
	return accepted;
}

static const char *
set_node_count(struct view *view, const char *text)
{
	char *end;
	errno = 0;
	unsigned long count = strtoul(text, &end, 10);
	if (errno || *end || !isdigit((unsigned char)*text))
		return "a number of functions, 0 for all";
	view->node_count = count;
	view->node_count_given = true;
	return NULL;
}

const char *
view_set(void *context, int key, const char *value)
{
	struct view *view = context;
	const char *accepted;
	if (options_set_symbolizer(&view->symbolizer, key, value, &accepted))
		return accepted;
	if (key >= OPT_TYPE_FIRST && key <= OPT_TYPE_LAST)
		view->sample_type = heap_types[key - OPT_TYPE_FIRST];
	switch (key) {
	case OPT_SAMPLE_TYPE:
		view->sample_type = value;
		break;
	case OPT_FOCUS:
		return compile(value, "--focus", &view->filter.focus);
	case OPT_IGNORE:
		return compile(value, "--ignore", &view->filter.ignore);
	case OPT_FULL_NAMES:
		view->filter.full_names = true;
		break;
	case OPT_NODE_COUNT:
		return set_node_count(view, value);
	case OPT_CUM:
	case OPT_FLAT:
		view->by_cum = key == OPT_CUM;
		break;
	case OPT_JSON:
		view->json = true;
		break;
	}
	return NULL;
}

void
view_end(struct view *view)
{
	pattern_free(view->filter.focus);
	pattern_free(view->filter.ignore);
	free(view->symbolizer.locate.debug_dirs);
}

int
view_run(struct view *view, const struct command *command, int argc,
	 char **argv, int count,
	 int (*body)(struct view *view, char **arguments))
{
	int status = options_read(command, argc, argv, view_set, view);
	if (!status)
		status = options_count(command, argc, argv, count, count);
	/* A program that adds rows up is not to get a part of them. */
	if (view->json && !view->node_count_given)
		view->node_count = 0;
	if (!status)
		status = body(view, argv + optind);
	view_end(view);
	return status;
}

int
view_read_raw(struct view *view, const char *path, struct profile **profile)
{
	struct reason reason;
	struct symbolizer_counts counts;
	if (profile_read(path, profile, &reason))
		return command_fail("%s: %s", path, reason.text);
	if (symbolizer_needed(*profile)) {
		symbolizer_run(*profile, &view->symbolizer, &counts);
		view->lost = view->lost || counts.lost;
	}
	if (profile_check_lines(*profile, &reason)) {
		profile_free(*profile);
		*profile = NULL;
		return command_fail("%s: %s", path, reason.text);
	}
	return COMMAND_OK;
}

void
view_make_printable(struct profile *profile)
{
	const struct pb_profile *pb = profile->pb;
	for (size_t i = 0; i < pb->n_string_table; i++)
		utf8_make_printable(pb->string_table[i]);
}

int
view_read(struct view *view, const char *path, struct profile **profile)
{
	int status = view_read_raw(view, path, profile);
	if (!status)
		view_make_printable(*profile);
	return status;
}

/*
 * By name; by number, as go tool pprof; or by a name without its last part:
 * "inuse" is inuse_space.
 */
static int
find_type(const struct profile *profile, const char *wish)
{
	static const char *const endings[] = { "", "_space", "_objects" };
	int type = -1;
	for (size_t i = 0; type < 0 && i < 3; i++) {
		char *name = memory_format("%s%s", wish, endings[i]);
		type = profile_sample_type(profile, name);
		free(name);
	}
	char *end;
	errno = 0;
	unsigned long number = strtoul(wish, &end, 10);
	if (type < 0 && isdigit((unsigned char)*wish) && !*end && !errno &&
	    number < profile->pb->n_sample_type)
		type = (int)number;
	return type;
}

int
view_type(const struct view *view, const struct profile *profile)
{
	const struct pb_profile *pb = profile->pb;
	int type = view->sample_type ? find_type(profile, view->sample_type)
				     : profile_default_type(profile);
	if (type >= 0)
		return type;
	char known[256] = "";
	for (size_t i = 0; i < pb->n_sample_type; i++) {
		size_t used = strlen(known);
		snprintf(known + used, sizeof(known) - used, "%s%s",
			 i ? ", " : "",
			 profile_text(profile, pb->sample_type[i]->type));
	}
	command_fail("%s: no sample type '%s'; there are: %s", profile->path,
		     view->sample_type, known);
	return -1;
}

int
view_check_filter(const struct view *view, const struct samples *samples)
{
	const struct samples_filter *filter = &view->filter;
	const char *path = samples->profile->path;
	if (samples->row_count || view->json)
		return COMMAND_OK;
	if (filter->focus && filter->ignore)
		return command_fail("%s: no stack matches --focus '%s' without "
				    "--ignore '%s'",
				    path, pattern_source(filter->focus),
				    pattern_source(filter->ignore));
	if (filter->focus)
		return command_fail("%s: no stack matches --focus '%s'", path,
				    pattern_source(filter->focus));
	if (filter->ignore)
		return command_fail("%s: no stack is left by --ignore '%s'",
				    path, pattern_source(filter->ignore));
	return COMMAND_OK;
}

void
view_print_estimate_note(bool is_estimate)
{
	if (is_estimate)
		printf("Sampled: %s is one standard error\n",
		       units_plus_minus());
}

void
view_output_begin(struct view *view)
{
	terminal_begin(&view->terminal, view->json);
}

int
view_output_end(struct view *view)
{
	if (!terminal_end(&view->terminal))
		return command_fail("cannot write the output: %m");
	return view->lost ? COMMAND_FAILED : COMMAND_OK;
}

const char *
view_colour(const struct view *view, double part, double total)
{
	if (!view->terminal.colour || total == 0)
		return "";
	double percent = 100 * fabs(part / total);
	return percent >= 5 ? "\033[31m" : percent >= 0.5 ? "\033[32m" : "";
}

const char *
view_colour_end(const struct view *view)
{
	return view->terminal.colour ? "\033[0m" : "";
}
