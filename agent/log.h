/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - one-line messages on standard error, "heapagent: ...".
 *
 * Formats into a small buffer of its own and makes one write, if standard error
 * takes it without blocking and without SIGPIPE: no stdio, no allocation, no
 * errno. Understands %s, %d, %u, %x (with l, ll, z and a
 * zero-padded width) and %% only.
 */
#ifndef HEAPAGENT_LOG_H
#define HEAPAGENT_LOG_H

#include <stdarg.h>
#include <stddef.h>

#include "compiler.h"

/* Something is wrong that the user should know; unless LOG=quiet. [any] */
void log_warn(const char *format, ...) PRINTF_LIKE(1, 2);
/*
 * The same, when the program has been running for a while: only if standard
 * error is still what it was at log_remember_stream() (it may have been closed
 * and its number reused). [any]
 */
void log_late(const char *format, ...) PRINTF_LIKE(1, 2);
void log_remember_stream(void);
/* Only if LOG=info. [any] */
void log_info(const char *format, ...) PRINTF_LIKE(1, 2);

/* What a negative errno means, in English: a constant. [any] */
const char *log_error_text(long error);

/*
 * The formatting itself: fills buffer, always terminated, cut if too long, and
 * returns the length written. [any]
 */
size_t log_format(char *buffer, size_t size_bytes, const char *format, ...)
	PRINTF_LIKE(3, 4);
size_t log_vformat(char *buffer, size_t size_bytes, const char *format,
		   va_list args);

#endif
