/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - command-line options that several subcommands share.
 *
 * A subcommand puts OPTIONS_SYMBOLIZER or OPTIONS_VIEW into its own table for
 * getopt_long() and hands what it does not know itself to options_...().
 */
#ifndef HEAPAGENT_OPTIONS_H
#define HEAPAGENT_OPTIONS_H

#include <getopt.h>

#include "symbolizer.h"

/* Above every character that is an option itself. */
enum {
	OPT_SYSROOT = 256,
	OPT_DEBUG_DIR,
	OPT_DEBUGINFOD,
	OPT_NO_INLINES,
	OPT_PERF_MAP,
	OPT_OWN, /* a subcommand's own begin here */
};

#define OPTIONS_SYMBOLIZER \
	{ "sysroot", required_argument, NULL, OPT_SYSROOT }, \
		{ "debug-dir", required_argument, NULL, OPT_DEBUG_DIR }, \
		{ "debuginfod", no_argument, NULL, OPT_DEBUGINFOD }, \
		{ "no-inlines", no_argument, NULL, OPT_NO_INLINES }, \
	{ \
		"perf-map", required_argument, NULL, OPT_PERF_MAP \
	}

#define OPTIONS_SYMBOLIZER_HELP \
	"  --sysroot DIR     where the program's files are now\n" \
	"  --debug-dir DIR   more debug files, as under /usr/lib/debug " \
	"(several)\n" \
	"  --debuginfod      ask the servers of DEBUGINFOD_URLS\n" \
	"  --no-inlines      leave out inlined functions\n" \
	"  --perf-map FILE   names of JIT code (default: " \
	"/tmp/perf-PID.map)\n"

/* True if it was one of OPTIONS_SYMBOLIZER; takes optarg. */
bool options_symbolizer(int option, struct symbolizer_options *options);

/*
 * Says which word of the call is wrong, after getopt_long() returned '?' or
 * ':'. Returns COMMAND_USAGE.
 */
int options_misused(int option, char **argv);

#endif
