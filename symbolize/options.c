/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c - the options of subcommands; see options.h.
 */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "similar.h"

/* The help's texts begin here; with 53 columns more they fit a screen. */
#define TEXT_COLUMN 27

const struct option_row options_symbolizer[] = {
	{ OPT_SYSROOT, "sysroot", "DIR", "where the program's files are now" },
	{ OPT_DEBUG_DIR, "debug-dir", "DIR",
	  "more debug files, as in /usr/lib/debug (several)" },
	{ OPT_DEBUGINFOD, "debuginfod", NULL,
	  "ask the servers of DEBUGINFOD_URLS" },
	{ OPT_NO_INLINES, "no-inlines", NULL, "leave out inlined functions" },
	{ OPT_PERF_MAP, "perf-map", "FILE",
	  "names of JIT code (/tmp/perf-PID.map)" },
	{ .name = NULL },
};

static const struct option_row help_row = { 'h', "help", NULL, "this text" };

const char *
options_directory(const char *path)
{
	struct stat status;
	return !stat(path, &status) && S_ISDIR(status.st_mode)
		       ? NULL
		       : "a directory that exists";
}

bool
options_set_symbolizer(struct symbolizer_options *options, int key,
		       const char *value, const char **accepted)
{
	struct locate_options *places = &options->locate;
	*accepted = NULL;
	switch (key) {
	case OPT_SYSROOT:
		places->sysroot = value;
		*accepted = options_directory(value);
		return true;
	case OPT_DEBUG_DIR:
		places->debug_dirs = memory_resize(places->debug_dirs,
						   places->debug_dir_count + 1,
						   sizeof(char *));
		places->debug_dirs[places->debug_dir_count++] = value;
		*accepted = options_directory(value);
		return true;
	case OPT_DEBUGINFOD:
		places->debuginfod = true;
		return true;
	case OPT_NO_INLINES:
		options->no_inlines = true;
		return true;
	case OPT_PERF_MAP:
		options->perf_map = value;
		if (access(value, R_OK))
			*accepted = "a file that can be read";
		return true;
	default:
		return false;
	}
}

const char *
options_output(const char *name)
{
	return *name ? NULL : "a file, a directory or -";
}

const char *
options_set_text(void *context, int key, const char *value)
{
	const char **text = context;
	(void)key;
	*text = value;
	return options_output(value);
}

/* Number i of all tables of the command and of help_row, or NULL. */
static const struct option_row *
row(const struct command *command, size_t i)
{
	for (size_t t = 0; command->options[t]; t++)
		for (const struct option_row *r = command->options[t]; r->name;
		     r++)
			if (i-- == 0)
				return r;
	return i == 0 ? &help_row : NULL;
}

static const struct option_row *
row_of(const struct command *command, int key)
{
	const struct option_row *r;
	for (size_t i = 0; (r = row(command, i)); i++)
		if (r->key == key)
			break;
	return r;
}

struct tables {
	struct option *longs;
	char *letters;
};

/* What getopt_long() wants to have. */
static struct tables
make_tables(const struct command *command)
{
	const struct option_row *r;
	size_t count = 0;
	while (row(command, count))
		count++;
	struct tables tables = {
		.longs = memory_get((count + 1) * sizeof(*tables.longs)),
		.letters = memory_get(2 * count + 3),
	};
	/* +: what follows the first argument is another command's. */
	strcpy(tables.letters, command->ends_options ? "+:" : ":");
	for (size_t i = 0; (r = row(command, i)); i++) {
		tables.longs[i] = (struct option){
			.name = r->name,
			.has_arg = r->value ? required_argument : no_argument,
			.val = r->key,
		};
		if (r->key < 256)
			sprintf(strchr(tables.letters, '\0'), "%c%s", r->key,
				r->value ? ":" : "");
	}
	return tables;
}

/* "--focus, --full-names": those that begin so, how many in *count. */
static char *
list_options(const struct command *command, const char *begin, size_t bytes,
	     size_t *count)
{
	const struct option_row *r;
	char *list = memory_string("");
	*count = 0;
	for (size_t i = 0; (r = row(command, i)); i++) {
		if (strncmp(r->name, begin, bytes) != 0)
			continue;
		char *longer = memory_format("%s%s--%s", list,
					     *count ? ", " : "", r->name);
		free(list);
		list = longer;
		++*count;
	}
	return list;
}

/* No option, or the begin of several. */
static int
unknown(const struct command *command, const char *word)
{
	const struct option_row *r;
	const char *begin = word + strspn(word, "-"), *near;
	size_t bytes = strcspn(begin, "="), count;
	struct similar similar = similar_to(begin, bytes);
	char *list = list_options(command, begin, bytes, &count);
	const char *what = "ambiguous";
	if (!bytes || !count) {
		what = "unknown";
		free(list);
		list = list_options(command, "", 0, &count);
	}
	for (size_t i = 0; (r = row(command, i)); i++)
		similar_add(&similar, r->name);
	near = *what == 'u' ? similar.nearest : NULL;
	int status = command_misused("%s: %s option '%s'; %s%s%sthere are %s",
				     command->name, what, word,
				     near ? "did you mean --" : "",
				     near ? near : "", near ? "? " : "", list);
	free(list);
	return status;
}

/* Says what is wrong, after getopt_long() answered '?' or ':'. */
static int
misused(const struct command *command, int answer, const char *word)
{
	const struct option_row *known =
		optopt ? row_of(command, optopt) : NULL;
	if (!known)
		return unknown(command, word);
	if (answer == ':')
		return command_misused("%s: option '%s' needs a value: %s",
				       command->name, word, known->value);
	return command_misused("%s: option '%s' is not accepted; --%s takes no "
			       "value",
			       command->name, word, known->name);
}

static int
refused(const struct command *command, int key, const char *value,
	const char *accepted)
{
	return command_misused("%s: --%s '%s' is not accepted; it takes %s",
			       command->name, row_of(command, key)->name, value,
			       accepted);
}

int
options_read(const struct command *command, int argc, char **argv,
	     options_set *set, void *context)
{
	struct tables tables = make_tables(command);
	int status = COMMAND_OK, key;
	opterr = 0;
	while (!status && (key = getopt_long_only(argc, argv, tables.letters,
						  tables.longs, NULL)) != -1) {
		const char *accepted = NULL;
		if (key == '?' || key == ':') {
			status = misused(command, key, argv[optind - 1]);
		} else if (key == help_row.key) {
			options_help(command);
			status = COMMAND_DONE;
		} else {
			accepted = set(context, key, optarg);
		}
		if (accepted)
			status = refused(command, key, optarg, accepted);
	}
	free(tables.longs);
	free(tables.letters);
	return status;
}

int
options_count(const struct command *command, int argc, char **argv, int least,
	      int most)
{
	int have = argc - optind;
	if (have < least)
		return command_misused("%s: too few arguments; the call is "
				       "heapagent %s [OPTION]... %s",
				       command->name, command->name,
				       command->arguments);
	if (have > most)
		return command_misused("%s: too many arguments, from '%s' on; "
				       "the call is heapagent %s [OPTION]... "
				       "%s",
				       command->name, argv[optind + most],
				       command->name, command->arguments);
	/* Another program's arguments may be anything. */
	for (int i = optind; i < argc && !command->ends_options; i++)
		if (!*argv[i])
			return command_misused("%s: '' is not accepted; the "
					       "call is heapagent %s "
					       "[OPTION]... %s",
					       command->name, command->name,
					       command->arguments);
	return COMMAND_OK;
}

void
options_help(const struct command *command)
{
	const struct option_row *r;
	printf("Usage: heapagent %s [OPTION]... %s\n%s.\n\n", command->name,
	       command->arguments, command->summary);
	for (size_t i = 0; (r = row(command, i)); i++) {
		char letter[] = { '-', (char)r->key, ',', '\0' };
		char *left = memory_format("  %3s --%s%s%s",
					   r->key < 256 ? letter : "", r->name,
					   r->value ? " " : "",
					   r->value ? r->value : "");
		/* What is too long for its column has a line of its own. */
		if (strlen(left) > TEXT_COLUMN - 2)
			printf("%s\n%*s%s\n", left, TEXT_COLUMN, "", r->text);
		else
			printf("%-*s%s\n", TEXT_COLUMN, left, r->text);
		free(left);
	}
}
