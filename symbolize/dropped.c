/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dropped.c - the frames that a profile itself says are not to be shown.
 */
#include "dropped.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "memory.h"
#include "pattern.h"

struct dropped {
	struct pattern *drop;
	struct pattern *keep; /* NULL: none */
};

/* NULL if there is none, or it is wrong: that is said. */
static struct pattern *
compile(const struct profile *profile, int64_t text, const char *field)
{
	struct reason reason;
	const char *source = profile_text(profile, text);
	if (!*source)
		return NULL;
	char *of = memory_format("%s: %s", profile->path, field);
	struct pattern *pattern =
		pattern_new(source, PATTERN_WHOLE, of, &reason);
	/* A profile is read without it, as by others who know it not. */
	if (!pattern)
		command_fail("%s: not used: no regular expression (%s)", of,
			     reason.text);
	free(of);
	return pattern;
}

struct dropped *
dropped_open(const struct profile *profile)
{
	struct pattern *drop =
		compile(profile, profile->pb->drop_frames, "drop_frames");
	if (!drop)
		return NULL;
	struct dropped *dropped = memory_get(sizeof(*dropped));
	dropped->drop = drop;
	dropped->keep =
		compile(profile, profile->pb->keep_frames, "keep_frames");
	return dropped;
}

void
dropped_close(struct dropped *dropped)
{
	if (!dropped)
		return;
	pattern_free(dropped->drop);
	pattern_free(dropped->keep);
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
	bool is = pattern_matches(dropped->drop, bare) &&
		  !(dropped->keep && pattern_matches(dropped->keep, bare));
	free(bare);
	return is;
}
