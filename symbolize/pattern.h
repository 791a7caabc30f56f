/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.h - regular expressions, from users and from profiles.
 *
 * Those of PCRE2, which knows Go's and POSIX's extended ones but for their
 * rarest signs. Neither a pattern nor a text can crash the matcher, and each
 * pattern has bounds: 16 KiB, 250 parentheses in each other, 64 KiB compiled,
 * 64 MiB and 5 s of processor time for all texts together.
 */
#ifndef HEAPAGENT_PATTERN_H
#define HEAPAGENT_PATTERN_H

#include <stdbool.h>

#include "reason.h"

struct pattern;

enum pattern_part {
	PATTERN_ANYWHERE,
	PATTERN_WHOLE, /* it is to match a text from its begin to its end */
};

/*
 * NULL if it is none, with the reason. "of" is what a message calls it:
 * "--focus", "FILE: drop_frames".
 */
struct pattern *pattern_new(const char *source, enum pattern_part part,
			    const char *of, struct reason *reason);
void pattern_free(struct pattern *pattern);

/* As the user wrote it. */
const char *pattern_source(const struct pattern *pattern);

/*
 * Whether it matches. A pattern that goes beyond its bounds ends the command,
 * in one line and with status 1: none is called once output has begun.
 */
bool pattern_matches(struct pattern *pattern, const char *text);

#endif
