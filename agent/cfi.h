/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi.h - call frame information (.eh_frame) of one pc as a row.
 *
 * The format: LSB 5.0 Core "Exception Frames", DWARF 5 §6.4, and the x86-64
 * psABI §3.7 (register 3 is rbx, 6 rbp, 7 rsp, 16 the return address). Data
 * that is wrong or cannot be expressed gives ROW_FALLBACK or ROW_NONE; no byte
 * outside [start, end) is read and every loop ends with the data.
 */
#ifndef HEAPAGENT_CFI_H
#define HEAPAGENT_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "row.h"

struct cfi_section {
	uintptr_t header; /* of .eh_frame_hdr; 0: there is none */
	uintptr_t start;  /* readable memory that holds it and .eh_frame */
	uintptr_t end;
};

/* What cfi_row() works in; contents are its own business. */
#define CFI_MEMORY_BYTES 1728

/*
 * The row of the code at pc; ROW_NONE if there is none. Needs CFI_MEMORY_BYTES
 * at memory, aligned to 8. [any]
 */
uint64_t cfi_row(const struct cfi_section *section, uintptr_t pc, void *memory);

/*
 * The code that CFI describes together with pc: a function, or the part of one
 * that the compiler has put elsewhere. False if there is none. Memory as above.
 * [any]
 */
struct cfi_function {
	uintptr_t first; /* [first, end) */
	uintptr_t end;
};
bool cfi_function(const struct cfi_section *section, uintptr_t pc, void *memory,
		  struct cfi_function *function);

#endif
