/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_row.h - the row of the code at an address, by its module. No data.
 *
 * Memory is CFI_MEMORY_BYTES, aligned to 8. Nothing outside of a module's
 * segments is read.
 */
#ifndef HEAPAGENT_UNWIND_ROW_H
#define HEAPAGENT_UNWIND_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi.h"
#include "modules.h"

/* [any] */
bool unwind_in_text(const struct module *module, uintptr_t address);

/* Where the module's call frame information is. [any] */
struct cfi_section unwind_section(const struct module *module);

/*
 * The row of the code at *pc, which is ip or the byte before it. *pc becomes
 * the address to call the frame by. Code without call frame information is
 * looked at, after asking for it, only if it may be what a signal's
 * handler returns to. [any]
 */
uint64_t unwind_row_of_module(const struct module *module, uintptr_t ip,
			      uintptr_t *pc, bool maybe_sigreturn,
			      void *memory);

/* The row of code that no module holds. [any] */
uint64_t unwind_row_of_stray(uintptr_t pc);

/*
 * True if a frame's caller may go on at the address: it comes after a call, or
 * the kernel (a signal's handler) or makecontext() has put it there. [dump]
 */
bool unwind_is_return_address(uintptr_t address, void *memory);

#endif
