/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.c - what the views have in common: options, input, output.
 */
#include "view.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory.h"
#include "profile_check.h"
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
	{ OPT_SAMPLE_TYPE, "sample_index", "TYPE", "any other sample type" },
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
	  "at most N functions (80; 0: all)" },
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

const char *
view_regex(const char *text, regex_t *pattern)
{
	static char accepted[160];
	char why[128];
	int code = regcomp(pattern, text, REG_EXTENDED | REG_NOSUB);
	if (!code)
		return NULL;
	regerror(code, pattern, why, sizeof(why));
	snprintf(accepted, sizeof(accepted), "a regular expression (%s)", why);
	return accepted;
}

static const char *
compile(const char *text, regex_t *pattern, const regex_t **used)
{
	if (*used)
		return "one regular expression (a|b is either)";
	const char *accepted = view_regex(text, pattern);
	if (!accepted)
		*used = pattern;
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
		return compile(value, &view->focus, &view->filter.focus);
	case OPT_IGNORE:
		return compile(value, &view->ignore, &view->filter.ignore);
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
	if (view->filter.focus)
		regfree(&view->focus);
	if (view->filter.ignore)
		regfree(&view->ignore);
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

int
view_type(const struct view *view, const struct profile *profile)
{
	const struct pb_profile *pb = profile->pb;
	int type = view->sample_type
			   ? profile_sample_type(profile, view->sample_type)
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

static const char usual_pager[] =
	"if command -v less >/dev/null; then exec less; else exec cat; fi";

static bool
wants_colour(void)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
	return !(none && *none) && term && strcmp(term, "dumb");
}

void
view_output_begin(struct view *view)
{
	const char *pager = getenv("PAGER");
	int ends[2];
	if (!isatty(STDOUT_FILENO))
		return;
	view->colour = wants_colour() && !view->json;
	if ((pager && (!*pager || !strcmp(pager, "cat"))) || pipe(ends))
		return;
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		dup2(ends[0], STDIN_FILENO);
		close(ends[0]);
		close(ends[1]);
		/* Ends at once what fits the screen; passes colours on. */
		setenv("LESS", "FRSX", 0);
		execl("/bin/sh", "sh", "-c", pager ? pager : usual_pager, NULL);
		_exit(127);
	}
	if (pid > 0) {
		/* Who quits the pager wants no more, and no message. */
		signal(SIGPIPE, SIG_IGN);
		dup2(ends[1], STDOUT_FILENO);
		view->pager_pid = (int)pid;
	}
	close(ends[0]);
	close(ends[1]);
}

int
view_output_end(struct view *view)
{
	bool lost = fflush(stdout) || ferror(stdout);
	int error = errno;
	if (view->pager_pid) {
		clearerr(stdout);
		close(STDOUT_FILENO);
		while (waitpid(view->pager_pid, NULL, 0) < 0 && errno == EINTR)
			;
		lost = false;
	}
	if (lost)
		return command_fail("cannot write the output: %s",
				    strerror(error));
	return view->lost ? COMMAND_FAILED : COMMAND_OK;
}

const char *
view_colour(const struct view *view, double part, double total)
{
	if (!view->colour || total == 0)
		return "";
	double percent = 100 * fabs(part / total);
	return percent >= 5 ? "\033[31m" : percent >= 0.5 ? "\033[32m" : "";
}

const char *
view_colour_end(const struct view *view)
{
	return view->colour ? "\033[0m" : "";
}
