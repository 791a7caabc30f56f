/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_libunwind.h - HEAPAGENT_UNWINDER=libunwind: the same frames from it.
 *
 * libunwind takes the loader's lock, and opens descriptors to try addresses
 * with; so this walk can deadlock where unwind.h's cannot, and needs far more
 * stack. It is there to compare with, and for whoever asks for it.
 */
#ifndef HEAPAGENT_UNWIND_LIBUNWIND_H
#define HEAPAGENT_UNWIND_LIBUNWIND_H

#include "unwind.h"

/*
 * Loads libunwind.so.8 so that nothing of it enters the host's symbols. 0, or
 * -ENOENT if there is no such library or it lacks something. Calls the
 * loader, which allocates. [init]
 */
int unwind_libunwind_load(void);

/*
 * As unwind_stack(), and the very same before a load that succeeded (the
 * loader allocates, and is sampled). Of the request, method, own
 * and scratch do not matter. Of the registers that the request lacks, it
 * takes none for known. Not in the dump child. [hook]
 */
enum unwind_end unwind_libunwind_stack(const struct unwind_request *request,
				       unsigned *count);

#endif
