/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_text.h - a threads profile as text, a block for each thread, in the
 * form of Go's goroutine profile with debug=2.
 */
#ifndef HEAPAGENT_THREAD_TEXT_H
#define HEAPAGENT_THREAD_TEXT_H

#include "function_offset.h"
#include "profile.h"

/* Whether its samples are threads, one by one. */
bool thread_text_is(const struct profile *profile);

/*
 * Prints them on standard output: the first of the file first, which is the
 * one that the dump was asked of, then by number.
 */
void thread_text_print(const struct profile *profile,
		       struct function_offset *offsets);

#endif
