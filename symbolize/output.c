/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.c - the files that commands make of profiles; see output.h.
 */
#include "output.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "memory.h"
#include "target.h"
#include "utf8.h"

static int
stem_bytes(const char *name)
{
	static const char *const endings[] = { ".pb.gz", ".pb", ".gz", ".txt" };
	size_t bytes = strlen(name);
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t ending = strlen(endings[i]);
		if (bytes > ending &&
		    !strcmp(name + bytes - ending, endings[i]))
			return (int)(bytes - ending);
	}
	return (int)bytes;
}

char *
output_name(const char *input, const char *out, const char *ending)
{
	struct stat status;
	bool is_directory =
		out && !stat(out, &status) && S_ISDIR(status.st_mode);
	if (out && !is_directory)
		return memory_string(out);
	const char *slash = strrchr(input, '/');
	const char *base = slash ? slash + 1 : input;
	/* What came through a pipe goes out through one, unless a directory
	 * is wanted: it has no name of its own there. */
	if (!strcmp(input, "-") && !is_directory)
		return memory_string("-");
	if (!strcmp(input, "-"))
		base = "stdin";
	if (is_directory)
		return memory_format("%s/%.*s%s", out, stem_bytes(base), base,
				     ending);
	return memory_format("%.*s%s", stem_bytes(input), input, ending);
}

void
output_made(const char *name, const char *what)
{
	/* It would become a part of it. */
	if (target_is_output(name))
		return;
	char *shown = memory_string(name);
	utf8_make_printable(shown);
	printf("%s: %s\n", shown, what);
	free(shown);
}

int
output_profile(const struct profile *profile, const char *out,
	       const char *ending, const char *what)
{
	struct reason reason;
	char *name = output_name(profile->path, out, ending);
	int status = COMMAND_OK;
	if (profile_write(profile, name, &reason))
		status = command_fail("%s: %s", name, reason.text);
	else
		output_made(name, what);
	free(name);
	return status;
}
