/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_program.h - runs the instructions of one CIE and FDE.
 *
 * Only the rules that a row can hold are followed, those of the CFA, rbx, rbp
 * and the return address; instructions about other registers are read and
 * forgotten. All state is in struct cfi_program, in the caller's memory.
 */
#ifndef HEAPAGENT_CFI_PROGRAM_H
#define HEAPAGENT_CFI_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi_expression.h"
#include "dwarf_reader.h"

/* DWARF register numbers, x86-64 psABI figure 3.36. */
enum {
	CFI_REGISTER_BX = 3,
	CFI_REGISTER_FP = 6,
	CFI_REGISTER_SP = 7,
	CFI_REGISTER_RA = 16
};

enum cfi_rule_how {
	CFI_RULE_SAME,
	CFI_RULE_UNDEFINED,
	CFI_RULE_CFA,	     /* at CFA + offset */
	CFI_RULE_EXPRESSION, /* at what the expression gives */
	CFI_RULE_OTHER,	     /* anything that a row cannot say */
};

struct cfi_rule {
	enum cfi_rule_how how;
	union {
		int64_t offset;
		const unsigned char *expression; /* its length comes first */
	};
};

enum {
	CFI_RULE_BX,
	CFI_RULE_FP,
	CFI_RULE_RA,
	CFI_RULE_COUNT,
	CFI_RULE_NONE = CFI_RULE_COUNT
};

struct cfi_rules {
	struct cfi_rule at[CFI_RULE_COUNT];
	const unsigned char *cfa_expression; /* NULL: a register and offset */
	int64_t cfa_offset;
	uint64_t cfa_register;
};

#define CFI_REMEMBERED_MAX 16

/* One program of CFA instructions, and what it works on. */
struct cfi_program {
	struct dwarf_reader in;	 /* the instructions to come */
	struct dwarf_reader fde; /* cfi.c's place in each entry */
	struct dwarf_reader cie;
	uintptr_t pc;	     /* the row is wanted of this place */
	uintptr_t location;  /* the instructions have come to this one */
	uintptr_t first;     /* where the FDE's code starts */
	uint64_t size_bytes; /* of that code */
	uint64_t code_align;
	int64_t data_align;
	const unsigned char *start; /* of the readable memory */
	const unsigned char *end;
	uintptr_t data; /* .eh_frame_hdr: base of DW_EH_PE_datarel */
	uint8_t encoding;
	bool augmented; /* the CIE's string starts with 'z' */
	bool signal_frame;
	unsigned remembered;
	struct cfi_machine machine;
	struct cfi_rules now;
	struct cfi_rules initial;
	struct cfi_rules stack[CFI_REMEMBERED_MAX];
};

/*
 * Executes instructions until they are about code after run->pc, end, or are
 * wrong: then run->in.failed. [any]
 */
void cfi_execute(struct cfi_program *run,
		 const struct dwarf_reader *instructions);

#endif
