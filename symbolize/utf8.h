/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - text from files, made fit for others.
 */
#ifndef HEAPAGENT_UTF8_H
#define HEAPAGENT_UTF8_H

#include <stddef.h>

/* Bytes of the well-formed UTF-8 character at text (RFC 3629), or 0. */
size_t utf8_character_bytes(const char *text);

/*
 * Bytes of the control character at text, which a terminal would obey, or 0:
 * ends of lines, those of C1, U+0080 to U+009F, and those that turn the
 * direction of a line are among them.
 */
size_t utf8_control_bytes(const char *text);

/* What is not UTF-8 becomes '?', in place. */
void utf8_repair(char *text);

/* The same, and control characters. */
void utf8_make_printable(char *text);

#endif
