/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reason.h - why something failed, in one line for a person.
 */
#ifndef HEAPAGENT_REASON_H
#define HEAPAGENT_REASON_H

struct reason {
	char text[256];
};

/* Writes the text and returns the code given (a negative errno). */
int reason_set(struct reason *reason, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
