/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.c - what the views have in common: options, input, output.
 */
#include "view.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "memory.h"
#include "profile_check.h"
#include "utf8.h"

enum {
	OPT_SAMPLE_TYPE = OPT_OWN,
	OPT_TYPE_FIRST, /* of heap_types[], one after the other */
	OPT_TYPE_LAST = OPT_TYPE_FIRST + 3,
	OPT_FOCUS,
	OPT_IGNORE,
	OPT_NODE_COUNT,
	OPT_CUM,
	OPT_FLAT,
	OPT_JSON,
	OPT_FULL_NAMES,
	OPT_DIFF,
	OPT_OUTPUT,
};

static const struct option long_options[] = {
	OPTIONS_SYMBOLIZER,
	{ "sample_index", required_argument, NULL, OPT_SAMPLE_TYPE },
	{ "alloc_objects", no_argument, NULL, OPT_TYPE_FIRST },
	{ "alloc_space", no_argument, NULL, OPT_TYPE_FIRST + 1 },
	{ "inuse_objects", no_argument, NULL, OPT_TYPE_FIRST + 2 },
	{ "inuse_space", no_argument, NULL, OPT_TYPE_LAST },
	{ "focus", required_argument, NULL, OPT_FOCUS },
	{ "ignore", required_argument, NULL, OPT_IGNORE },
	{ "nodecount", required_argument, NULL, OPT_NODE_COUNT },
	{ "cum", no_argument, NULL, OPT_CUM },
	{ "flat", no_argument, NULL, OPT_FLAT },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "full-names", no_argument, NULL, OPT_FULL_NAMES },
	{ "diff", no_argument, NULL, OPT_DIFF },
	{ "o", required_argument, NULL, OPT_OUTPUT },
	{ "output", required_argument, NULL, OPT_OUTPUT },
	{ NULL, 0, NULL, 0 },
};

static const char *const heap_types[] = {
	"alloc_objects",
	"alloc_space",
	"inuse_objects",
	"inuse_space",
};

void
view_init(struct view *view)
{
	*view = (struct view){ .node_count = VIEW_NODE_COUNT };
}

static int
compile(const char *option, const char *text, regex_t *pattern,
	const regex_t **used)
{
	char why[128];
	if (*used)
		return command_misused("--%s given twice", option);
	int code = regcomp(pattern, text, REG_EXTENDED | REG_NOSUB);
	if (!code) {
		*used = pattern;
		return COMMAND_OK;
	}
	regerror(code, pattern, why, sizeof(why));
	return command_misused("--%s '%s': %s", option, text, why);
}

static int
set_node_count(struct view *view, const char *text)
{
	char *end;
	errno = 0;
	unsigned long count = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-')
		return command_misused("--nodecount '%s': a number of "
				       "functions is wanted, 0 for all",
				       text);
	view->node_count = count;
	return COMMAND_OK;
}

static int
set_page_option(struct view *view, int option, char **argv)
{
	if (!view->takes_page_options)
		return command_misused("%s: unknown option '%s'", argv[0],
				       option == OPT_DIFF ? "--diff" : "-o");
	if (option == OPT_DIFF)
		view->diff = true;
	else
		view->out = optarg;
	return COMMAND_OK;
}

static int
set_option(struct view *view, int option, char **argv)
{
	if (options_symbolizer(option, &view->symbolizer))
		return COMMAND_OK;
	if (option >= OPT_TYPE_FIRST && option <= OPT_TYPE_LAST) {
		view->sample_type = heap_types[option - OPT_TYPE_FIRST];
		return COMMAND_OK;
	}
	switch (option) {
	case OPT_SAMPLE_TYPE:
		view->sample_type = optarg;
		return COMMAND_OK;
	case OPT_FOCUS:
		return compile("focus", optarg, &view->focus,
			       &view->filter.focus);
	case OPT_IGNORE:
		return compile("ignore", optarg, &view->ignore,
			       &view->filter.ignore);
	case OPT_NODE_COUNT:
		return set_node_count(view, optarg);
	case OPT_CUM:
	case OPT_FLAT:
		view->by_cum = option == OPT_CUM;
		return COMMAND_OK;
	case OPT_JSON:
		view->json = true;
		return COMMAND_OK;
	case OPT_FULL_NAMES:
		view->filter.full_names = true;
		return COMMAND_OK;
	case OPT_DIFF:
	case OPT_OUTPUT:
		return set_page_option(view, option, argv);
	default:
		return options_misused(option, argv);
	}
}

int
view_parse(struct view *view, int argc, char **argv)
{
	int status = COMMAND_OK, option;
	opterr = 0;
	while (!status && (option = getopt_long_only(argc, argv, ":",
						     long_options, NULL)) != -1)
		status = set_option(view, option, argv);
	return status;
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
view_read(struct view *view, const char *path, struct profile **profile)
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
	struct pb_profile *pb = (*profile)->pb;
	for (size_t i = 0; i < pb->n_string_table; i++)
		utf8_make_printable(pb->string_table[i]);
	return COMMAND_OK;
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
