/* SPDX-License-Identifier: Apache-2.0 */
/*
 * missing.c - counters out of comments; see missing.h.
 *
 * The protobuf has many in one comment ("# a=1 b=2", without the "# " in files
 * of older agents), the text one in each ("a = 1").
 */
#include "missing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "estimate.h"
#include "memory.h"
#include "units.h"

/* In the order of enum counter. */
static const struct {
	const char *name;
	const char *text;
} counters_known[] = {
#define COUNTER_ROW(name, text) { #name, text },
	COUNTERS(COUNTER_ROW)
#undef COUNTER_ROW
};

static bool
is_dropped_samples(size_t counter)
{
	static const char prefix[] = "samples_dropped_";
	return !strncmp(counters_known[counter].name, prefix,
			sizeof(prefix) - 1);
}

/* Behind "name=" or "name = ", where a word begins; or NULL. */
static const char *
value_of(const char *comment, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = comment; (at = strstr(at, name)); at += length) {
		const char *value = at + length;
		if (at != comment && at[-1] != ' ')
			continue;
		if (!strncmp(value, " = ", 3))
			return value + 3;
		if (*value == '=')
			return value + 1;
	}
	return NULL;
}

/*
 * True of a comment that begins with a figure of the agent's: the command line,
 * which is a comment, too, may have words that look like them further on.
 */
static bool
is_figures(const char *comment)
{
	static const char *const totals[] = { "rate", "samples" };
	const char *begin = comment + strspn(comment, "# ");
	size_t length = strspn(begin, "abcdefghijklmnopqrstuvwxyz_");
	const char *behind = begin + length;
	if (*behind != '=' && strncmp(behind, " = ", 3) != 0)
		return false;
	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++)
		if (strlen(totals[i]) == length &&
		    !strncmp(begin, totals[i], length))
			return true;
	for (size_t i = 0; i < COUNTER_COUNT; i++)
		if (strlen(counters_known[i].name) == length &&
		    !strncmp(begin, counters_known[i].name, length))
			return true;
	return false;
}

double
missing_counter(const struct profile *profile, const char *name)
{
	for (size_t i = 0; i < profile->pb->n_comment; i++) {
		const char *comment =
			profile_text(profile, profile->pb->comment[i]);
		const char *value =
			is_figures(comment) ? value_of(comment, name) : NULL;
		if (value && *value >= '0' && *value <= '9')
			return strtod(value, NULL);
	}
	return 0;
}

struct missing_line
missing_line(const double *counters, double samples, double alloc_bytes)
{
	struct missing_line line = { .text = "" };
	double dropped = 0, bytes = counters[COUNTER_dropped_bytes];
	size_t most = COUNTER_COUNT;
	char share[32] = "some", amount[80] = "";
	for (size_t i = 0; i < COUNTER_COUNT; i++) {
		if (!is_dropped_samples(i) || counters[i] <= 0)
			continue;
		dropped += counters[i];
		if (most == COUNTER_COUNT || counters[i] > counters[most])
			most = i;
	}
	if (most == COUNTER_COUNT && bytes <= 0)
		return line;
	/* Of older agents the samples alone are counted, not what they weigh.
	 */
	double part = bytes > 0 ? bytes : dropped;
	double all = part + (bytes > 0 ? alloc_bytes : samples);
	if (bytes > 0)
		snprintf(amount, sizeof(amount), " (%s)",
			 units_value(bytes, "bytes").text);
	if (bytes <= 0 || alloc_bytes >= 0)
		snprintf(share, sizeof(share), "%.2g %%", 100 * part / all);
	snprintf(line.text, sizeof(line.text),
		 "%s of the %s%s, not in these figures: %s", share,
		 bytes > 0 ? "allocated bytes" : "samples", amount,
		 most < COUNTER_COUNT ? counters_known[most].text
				      : "samples were dropped");
	return line;
}

static double
sum_of(const struct profile *profile, int type)
{
	double sum = 0;
	for (size_t i = 0; i < profile->pb->n_sample; i++)
		sum += (double)profile->pb->sample[i]->value[type];
	return sum;
}

/* The comment that begins so, behind that; or NULL. */
static const char *
comment_after(const struct profile *profile, const char *prefix)
{
	for (size_t i = 1; i < profile->pb->n_comment; i++) {
		const char *comment =
			profile_text(profile, profile->pb->comment[i]);
		comment += strspn(comment, "# ");
		if (!strncmp(comment, prefix, strlen(prefix)))
			return comment + strlen(prefix);
	}
	return NULL;
}

static void
append(char **text, const char *title, const char *more)
{
	char *longer = memory_format("%s%s%s\n", *text, title, more);
	free(*text);
	*text = longer;
}

char *
missing_text(const struct profile *profile)
{
	const struct pb_profile *pb = profile->pb;
	char *text = memory_string("");
	int type = profile_sample_type(profile, "alloc_space");
	if (!pb->period_type ||
	    strcmp(profile_text(profile, pb->period_type->type), "space") != 0)
		return text;
	double counters[COUNTER_COUNT];
	for (size_t i = 0; i < COUNTER_COUNT; i++)
		counters[i] = missing_counter(profile, counters_known[i].name);
	struct missing_line line =
		missing_line(counters, missing_counter(profile, "samples"),
			     type < 0 ? -1 : sum_of(profile, type));
	if (*line.text)
		append(&text, "Missing: ", line.text);
	const char *unseen = comment_after(profile, "not seen: ");
	if (!unseen)
		unseen = comment_after(profile, "not seen = ");
	if (unseen)
		append(&text, "Not seen: ", unseen);
	if (!pb->n_sample && pb->period > 1 && !*line.text)
		append(&text, "Nothing was sampled: ",
		       "fewer bytes were allocated than there are between "
		       "samples; try --rate 4K");
	return text;
}
