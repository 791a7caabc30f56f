/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_fp.h - how far below the frame pointer the stack pointer is.
 *
 * Of a thread that is not stopped only ip and sp are known. A function with a
 * frame pointer keeps sp at a distance from it that depends on the place in
 * its code alone, unless it takes stack of a size that is not in its code
 * (alloca, arrays of variable length, a realigned frame). So fp is sp plus that
 * distance, or it is not known: what lies on the stack is not asked, where an
 * old return address looks like a live one.
 */
#ifndef HEAPAGENT_UNWIND_FP_H
#define HEAPAGENT_UNWIND_FP_H

#include <stdint.h>

#include "cfi.h"

/* The longest function that is looked at, with its part elsewhere. */
#define UNWIND_FP_CODE_MAX 32768
#define UNWIND_FP_MEMORY_BYTES (UNWIND_FP_CODE_MAX * sizeof(int32_t))

struct unwind_fp_code {
	struct cfi_section section;
	uintptr_t text_start; /* [text_start, text_end) can be read */
	uintptr_t text_end;
	void *cfi_memory;   /* CFI_MEMORY_BYTES, aligned to 8 */
	int32_t *distances; /* UNWIND_FP_MEMORY_BYTES */
};

/*
 * fp - sp at pc, or a negative number if the code does not prove it. pc is in
 * the call that the frame waits in, or the instruction that it was interrupted
 * before. [dump]
 */
int64_t unwind_fp_distance(const struct unwind_fp_code *code, uintptr_t pc);

#endif
