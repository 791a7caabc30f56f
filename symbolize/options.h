/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - the options of subcommands: one table from which the call is
 * read and the help is printed, so that neither can know more than the other.
 *
 * Options may stand anywhere before "--", and one dash does for two, as in
 * go tool pprof. --help is understood by every subcommand.
 */
#ifndef HEAPAGENT_OPTIONS_H
#define HEAPAGENT_OPTIONS_H

#include "command.h"
#include "symbolizer.h"

/* A table of these ends with an empty one. */
struct option_row {
	int key;	   /* a letter that is a short option, or an OPT_... */
	const char *name;  /* of the long option, without dashes */
	const char *value; /* what the help calls its value; NULL: has none */
	const char *text;  /* of the help */
};

/* Above every letter. */
enum {
	OPT_SYSROOT = 256,
	OPT_DEBUG_DIR,
	OPT_DEBUGINFOD,
	OPT_NO_INLINES,
	OPT_PERF_MAP,
	OPT_VIEW,	 /* those of view.c begin here, */
	OPT_OWN = 0x200, /* and a subcommand's own here */
};

/* Where names come from. */
extern const struct option_row options_symbolizer[];

/*
 * Takes one option into the command's own context: NULL, or what the option
 * takes in place of this value, as in "a number of functions".
 */
typedef const char *options_set(void *context, int key, const char *value);

/*
 * True if the key is one of options_symbolizer; *accepted is then as what
 * options_set returns.
 */
bool options_set_symbolizer(struct symbolizer_options *options, int key,
			    const char *value, const char **accepted);

/* An options_set for a context that is a const char *, the only option's -o. */
options_set options_set_text;

/* NULL if -o may be that, else words for what options_set returns. */
const char *options_output(const char *name);

/* NULL if path is a directory, else words for what options_set returns. */
const char *options_directory(const char *path);

/*
 * Hands each option of the call to set(); optind is the first argument after
 * them then. COMMAND_OK; COMMAND_USAGE, the reason said; COMMAND_DONE, if help
 * was asked for and printed.
 */
int options_read(const struct command *command, int argc, char **argv,
		 options_set *set, void *context);

/*
 * COMMAND_OK if there are so many arguments from optind on, at most "most";
 * COMMAND_USAGE if not, the reason said.
 */
int options_count(const struct command *command, int argc, char **argv,
		  int least, int most);

void options_help(const struct command *command);

#endif
