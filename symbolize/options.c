/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c - command-line options that several subcommands share.
 */
#include "options.h"

#include "command.h"
#include "memory.h"

bool
options_symbolizer(int option, struct symbolizer_options *options)
{
	struct locate_options *locate_options = &options->locate;
	switch (option) {
	case OPT_SYSROOT:
		locate_options->sysroot = optarg;
		return true;
	case OPT_DEBUG_DIR:
		locate_options->debug_dirs =
			memory_resize(locate_options->debug_dirs,
				      locate_options->debug_dir_count + 1,
				      sizeof(char *));
		locate_options->debug_dirs[locate_options->debug_dir_count++] =
			optarg;
		return true;
	case OPT_DEBUGINFOD:
		locate_options->debuginfod = true;
		return true;
	case OPT_NO_INLINES:
		options->no_inlines = true;
		return true;
	case OPT_PERF_MAP:
		options->perf_map = optarg;
		return true;
	default:
		return false;
	}
}

int
options_misused(int option, char **argv)
{
	const char *word = argv[optind - 1];
	if (option == ':')
		return command_misused("%s: option '%s' needs a value", argv[0],
				       word);
	return command_misused("%s: unknown option '%s'", argv[0], word);
}
