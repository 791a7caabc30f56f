/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_fuzz.c - any bytes as a profile: refused, or shown and changed by
 * every command that reads one. Files are not looked into: addresses have
 * names that depend on nothing but themselves.
 */
/* SYMBOLIZE: command command_top command_tree command_diff command_flame */
/* SYMBOLIZE: command_text command_inuse command_delta command_symbolize */
/* SYMBOLIZE: delta demangle estimate flame_page flame_tree graph heading */
/* SYMBOLIZE: json legacy_place legacy_text memory options output_name */
/* SYMBOLIZE: perf_map profile profile_check profile_edit profile_file reason */
/* SYMBOLIZE: samples short_name symbolizer table units utf8 view proto */
#include "command.h"
#include "input.h"
#include "lookup.h"

#include <getopt.h>
#include <string.h>

void
lookup_run(struct lookup *lookup)
{
	static char name[] = "_ZN1aIiE1bEv", file[] = "/\033\xff.c";
	struct lookup_function functions[] = {
		{ .name = name, .file = file, .start_line = 7 },
		{ .system_name = name },
		{ .name = file, .system_name = name, .start_line = -1 },
	};
	for (size_t i = 0; i < lookup->question_count; i++) {
		uint64_t at = lookup->questions[i].file_offset;
		struct lookup_frame frames[] = {
			{ &functions[at % 3], (int)at },
			{ &functions[0], -1 },
			{ &functions[1], 0 },
		};
		struct lookup_answer answer = {
			.frames = frames,
			.count = at % 4,
			.has_lines = at & 4,
			.has_offset = at & 8,
			.into_symbol = at,
		};
		lookup->answer(lookup->data, i, &answer);
	}
}

static void
command(const struct command *one, const char *path, const char *words)
{
	char line[256], *argv[16], *rest;
	int argc = 0;
	snprintf(line, sizeof(line), words, path, path);
	for (char *word = strtok_r(line, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	argv[argc] = NULL;
	optind = 0; /* the GNU way to begin anew */
	one->run(argc, argv);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static bool quiet;
	const char *path = input_write("profile", data, bytes);
	if (!quiet && !freopen("/dev/null", "w", stdout))
		abort();
	quiet = true;
	command(&command_symbolize, path, "symbolize -o /dev/null %s");
	command(&command_top, path, "top --full-names %s");
	command(&command_top, path, "top --json --cum --nodecount 3 %s");
	command(&command_tree, path, "tree %s");
	command(&command_peek, path, "peek --json . %s");
	command(&command_diff, path, "diff %s %s");
	command(&command_flame, path, "flame -o /dev/null %s");
	command(&command_flame, path,
		"flame --diff --focus=a --ignore=c -o /dev/null %s %s");
	command(&command_text, path, "text %s");
	command(&command_inuse, path, "inuse -o /dev/null %s");
	command(&command_delta, path, "delta -o /dev/null %s %s");
	return 0;
}
