/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dropped.c - the frames that a profile itself says are not to be shown.
 */
#include "dropped.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

struct dropped {
	regex_t drop, keep;
	bool keeps;
};

/* As a pattern of the whole text. False if there is none, or it is wrong. */
static bool
compile(const struct profile *profile, int64_t text, regex_t *pattern)
{
	const char *source = profile_text(profile, text);
	if (!*source)
		return false;
	char *whole = memory_format("^(%s)$", source);
	bool good = !regcomp(pattern, whole, REG_EXTENDED | REG_NOSUB);
	free(whole);
	return good;
}

struct dropped *
dropped_open(const struct profile *profile)
{
	struct dropped *dropped = memory_get(sizeof(*dropped));
	if (!compile(profile, profile->pb->drop_frames, &dropped->drop)) {
		free(dropped);
		return NULL;
	}
	dropped->keeps =
		compile(profile, profile->pb->keep_frames, &dropped->keep);
	return dropped;
}

void
dropped_close(struct dropped *dropped)
{
	if (!dropped)
		return;
	regfree(&dropped->drop);
	if (dropped->keeps)
		regfree(&dropped->keep);
	free(dropped);
}

/* The name without parameters, as pprof matches it. */
static size_t
bare_bytes(const char *name)
{
	static const char *const parts[] = { "(anonymous namespace)",
					     "operator()" };
	for (const char *at = name; *at; at++) {
		size_t skip = 0;
		for (size_t i = 0; i < 2; i++)
			if (!strncmp(at, parts[i], strlen(parts[i])))
				skip = strlen(parts[i]);
		if (skip)
			at += skip - 1;
		else if (*at == '(')
			return (size_t)(at - name);
	}
	return strlen(name);
}

bool
dropped_function(const struct dropped *dropped, const char *name)
{
	if (!dropped)
		return false;
	char *bare = memory_format("%.*s", (int)bare_bytes(name), name);
	bool is =
		!regexec(&dropped->drop, bare, 0, NULL, 0) &&
		!(dropped->keeps && !regexec(&dropped->keep, bare, 0, NULL, 0));
	free(bare);
	return is;
}
