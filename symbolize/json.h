/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - JSON text on a stream.
 */
#ifndef HEAPAGENT_JSON_H
#define HEAPAGENT_JSON_H

#include <stdio.h>

/*
 * A string with its quotes. Bytes that are not UTF-8 become U+FFFD; < is
 * escaped, so that the text may stand in a script element of a page.
 */
void json_string(FILE *out, const char *text);

/* A number that reads back as the same; infinities and NaN become null. */
void json_number(FILE *out, double value);

/* ,"name":value - a further member of an object; the name needs no escapes. */
void json_member(FILE *out, const char *name, double value);

#endif
