/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.c - regular expressions, from users and from profiles.
 *
 * PCRE2 bounds what it compiles by itself. A match may take time exponential
 * in its text; so each step of it calls back (a callout before each item of
 * the pattern), and the clock is looked at now and then.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "pattern.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "memory.h"

#define SOURCE_MAX_BYTES 16384
#define DEPTH_MAX 250
#define MATCH_MAX_KIB 65536
#define MATCHING_MAX_S 5

/*
 * A step passes over one text at most, so one of a long text weighs more. Only
 * matches that weigh as much as this are timed, for which reading the clock is
 * nothing; all the others together take no longer than making their texts.
 */
#define WEIGHT_PER_LOOK 256
#define BYTES_PER_WEIGHT 256

struct pattern {
	pcre2_code *code;
	pcre2_match_data *found;
	pcre2_match_context *context;
	char *source, *of;
	size_t step_weight; /* in the match that goes on */
	size_t weight;	    /* since the last look */
	bool looked;	    /* in this match, at: */
	clock_t last;
	clock_t used; /* in all matches */
};

/* Non-zero ends the match. */
static int
step(pcre2_callout_block *block, void *data)
{
	struct pattern *pattern = data;
	(void)block;
	pattern->weight += pattern->step_weight;
	if (pattern->weight < WEIGHT_PER_LOOK)
		return 0;
	clock_t now = clock();
	if (pattern->looked)
		pattern->used += now - pattern->last;
	pattern->weight = 0;
	pattern->looked = true;
	pattern->last = now;
	return pattern->used > MATCHING_MAX_S * CLOCKS_PER_SEC
		       ? PCRE2_ERROR_CALLOUT
		       : 0;
}

static pcre2_code *
compile(const char *source, enum pattern_part part, struct reason *reason)
{
	pcre2_compile_context *limits = pcre2_compile_context_create(NULL);
	uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF |
			   PCRE2_AUTO_CALLOUT | PCRE2_DOLLAR_ENDONLY |
			   PCRE2_NEVER_BACKSLASH_C;
	PCRE2_UCHAR why[160];
	size_t where;
	int error;
	if (part == PATTERN_WHOLE)
		options |= PCRE2_ANCHORED | PCRE2_ENDANCHORED;
	if (!limits) {
		reason_set(reason, -1, "out of memory");
		return NULL;
	}
	pcre2_set_max_pattern_length(limits, SOURCE_MAX_BYTES);
	pcre2_set_parens_nest_limit(limits, DEPTH_MAX);
	pcre2_code *code =
		pcre2_compile((PCRE2_SPTR)source, PCRE2_ZERO_TERMINATED,
			      options, &error, &where, limits);
	pcre2_compile_context_free(limits);
	if (code)
		return code;
	pcre2_get_error_message(error, why, sizeof(why));
	reason_set(reason, -1, "%s, at byte %zu", (const char *)why, where);
	return NULL;
}

struct pattern *
pattern_new(const char *source, enum pattern_part part, const char *of,
	    struct reason *reason)
{
	pcre2_code *code = compile(source, part, reason);
	if (!code)
		return NULL;
	struct pattern *pattern = memory_get(sizeof(*pattern));
	pattern->code = code;
	pattern->found = pcre2_match_data_create_from_pattern(code, NULL);
	pattern->context = pcre2_match_context_create(NULL);
	pattern->source = memory_string(source);
	pattern->of = memory_string(of);
	if (!pattern->found || !pattern->context) {
		reason_set(reason, -1, "out of memory");
		pattern_free(pattern);
		return NULL;
	}
	pcre2_set_heap_limit(pattern->context, MATCH_MAX_KIB);
	pcre2_set_callout(pattern->context, step, pattern);
	return pattern;
}

void
pattern_free(struct pattern *pattern)
{
	if (!pattern)
		return;
	pcre2_match_context_free(pattern->context);
	pcre2_match_data_free(pattern->found);
	pcre2_code_free(pattern->code);
	free(pattern->source);
	free(pattern->of);
	free(pattern);
}

const char *
pattern_source(const struct pattern *pattern)
{
	return pattern->source;
}

bool
pattern_matches(struct pattern *pattern, const char *text)
{
	PCRE2_UCHAR why[160];
	size_t bytes = strlen(text);
	pattern->step_weight = 1 + bytes / BYTES_PER_WEIGHT;
	pattern->looked = false;
	int status = pcre2_match(pattern->code, (PCRE2_SPTR)text, bytes, 0, 0,
				 pattern->found, pattern->context);
	if (status >= 0 || status == PCRE2_ERROR_NOMATCH)
		return status >= 0;
	pcre2_get_error_message(status, why, sizeof(why));
	exit(command_fail("%s: the regular expression '%.80s' takes too much "
			  "time or memory (%s)",
			  pattern->of, pattern->source, (const char *)why));
}
