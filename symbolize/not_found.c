/* SPDX-License-Identifier: Apache-2.0 */
/*
 * not_found.c - files that were wanted and not there.
 */
#include "not_found.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "memory.h"

void
not_found_add(struct not_found *not_found, int cause, const char *file)
{
	size_t i = 0;
	if (cause == FOUND)
		return;
	while (i < not_found->count && not_found->causes[i].cause != cause)
		i++;
	if (i == NOT_FOUND_CAUSES)
		return;
	if (i == not_found->count) {
		not_found->count++;
		not_found->causes[i].cause = cause;
		not_found->causes[i].first = file;
		not_found->causes[i].count = 0;
	}
	not_found->causes[i].count++;
}

static const char *
server_reason(int status)
{
	switch (status) {
	case -ENOENT:
		return "no server of DEBUGINFOD_URLS has it";
	case -EBADMSG:
		return "what the server sent is not that file";
	case -ETIME:
	case -ETIMEDOUT:
		return "the server does not answer (DEBUGINFOD_TIMEOUT); it "
		       "was asked for nothing more";
	default:
		return strerror(-status);
	}
}

void
not_found_say(const struct not_found *not_found, const char *sysroot)
{
	for (size_t i = 0; i < not_found->count; i++) {
		int cause = not_found->causes[i].cause;
		size_t others = not_found->causes[i].count - 1;
		char *more =
			others ? memory_format(" and %zu more file%s", others,
					       others == 1 ? "" : "s")
			       : memory_string("");
		if (cause == NOT_IN_SYSROOT)
			command_fail("--sysroot: %s%s: not found in %s",
				     not_found->causes[i].first, more,
				     sysroot ? sysroot : "/");
		else
			command_fail("--debuginfod: %s%s: %s",
				     not_found->causes[i].first, more,
				     server_reason(cause));
		free(more);
	}
}
