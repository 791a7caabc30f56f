/* SPDX-License-Identifier: Apache-2.0 */
/* libunwind.h - the reference unwinder, loaded when it is asked for. */
#ifndef HEAPAGENT_LIBUNWIND_H
#define HEAPAGENT_LIBUNWIND_H

#include "unwind.h"

/* Loads libunwind.so.8 privately. 0, or a negative errno. [init] */
int libunwind_load(void);
/* As unwind_stack(), with the loaded libunwind. [hook] */
enum unwind_end libunwind_stack(const struct unwind_request *request,
				unsigned *count);

#endif
