/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_fuzz.c - any bytes as a profile: refused, or shown and changed by
 * every command that reads one. No file is opened: addresses have names that
 * depend on nothing but themselves, and what is written is thrown away.
 */
/* SYMBOLIZE: command command_top command_tree command_diff command_flame */
/* SYMBOLIZE: command_text command_inuse command_delta command_symbolize */
/* SYMBOLIZE: delta demangle estimate flame_page flame_tree graph json */
/* SYMBOLIZE: graph_view heading legacy_place legacy_text memory options output
 */
/* SYMBOLIZE: perf_map profile profile_check profile_edit reason */
/* SYMBOLIZE: samples short_name symbolizer table units utf8 view proto */
/* SYMBOLIZE: dropped function_offset legacy_thread thread_text */
/* SYMBOLIZE: pattern similar target terminal missing */
#include "command.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lookup.h"
#include "memory.h"
#include "profile_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const uint8_t *input;
static size_t input_bytes;

int
profile_file_read(const char *path, uint8_t **data, size_t *data_bytes,
		  struct reason *reason)
{
	(void)path;
	(void)reason;
	*data = memory_get(input_bytes);
	*data_bytes = input_bytes;
	if (input_bytes)
		memcpy(*data, input, input_bytes);
	return 0;
}

int
profile_file_write(const char *path, const uint8_t *data, size_t data_bytes,
		   struct reason *reason)
{
	(void)path;
	(void)data;
	(void)data_bytes;
	(void)reason;
	return 0;
}

int
profile_file_write_plain(const char *path, const void *data, size_t data_bytes,
			 struct reason *reason)
{
	return profile_file_write(path, data, data_bytes, reason);
}

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
command(const struct command *one, const char *words)
{
	char line[256], *argv[16], *rest;
	int argc = 0;
	snprintf(line, sizeof(line), "%s", words);
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
	input = data;
	input_bytes = bytes;
	if (!quiet && !freopen("/dev/null", "w", stdout))
		abort();
	quiet = true;
	command(&command_symbolize, "symbolize -o /dev/null a");
	command(&command_top, "top --full-names a");
	command(&command_top, "top --json --cum --nodecount 3 a");
	command(&command_tree, "tree a");
	command(&command_peek, "peek --json . a");
	command(&command_diff, "diff a b");
	command(&command_flame, "flame -o /dev/null a");
	command(&command_flame,
		"flame --diff --focus=a --ignore=c -o /dev/null a b");
	command(&command_text, "text a");
	command(&command_inuse, "inuse -o /dev/null a");
	command(&command_delta, "delta -o /dev/null a b");
	return 0;
}
