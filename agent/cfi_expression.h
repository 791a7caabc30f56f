/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_expression.h - DWARF expressions of CFI, as far as a row can say them.
 *
 * An expression is worked out without the values of the registers, which are
 * not known when a row is made: each element of its stack is a base register
 * plus a number. What cannot be kept in that form is refused. That takes in
 * what compilers and linkers write: *(rbp - 8) (realigned stacks), rsp + 8 or
 * + 16 by the low bits of rip (PLT entries), *(rsp + 152) + 8 (OpenSSL).
 */
#ifndef HEAPAGENT_CFI_EXPRESSION_H
#define HEAPAGENT_CFI_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarf_reader.h"

enum cfi_base {
	CFI_BASE_NONE, /* a plain number */
	CFI_BASE_SP,
	CFI_BASE_FP,
	CFI_BASE_BX,
	CFI_BASE_CFA,
};

/* base + first, or *(base + first) + second if it is loaded. */
struct cfi_value {
	int64_t first;
	int64_t second;
	enum cfi_base base;
	bool loaded;
};

#define CFI_EXPRESSION_DEPTH 4

/* What an expression is worked out in; its result is stack[depth - 1]. */
struct cfi_machine {
	struct cfi_value stack[CFI_EXPRESSION_DEPTH];
	unsigned depth;
};

/*
 * Works out the expression for the code at pc. With on_stack the CFA is its
 * first element, as in DW_CFA_expression. The result, in *machine, or NULL if
 * it cannot be done. [any]
 */
struct cfi_value *cfi_expression(struct cfi_machine *machine,
				 struct dwarf_reader *expression, uintptr_t pc,
				 bool on_stack);

#endif
