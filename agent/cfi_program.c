/* SPDX-License-Identifier: Apache-2.0 */
/* cfi_program.c - the instructions of DWARF 5 §6.4.2; see cfi_program.h. */
#include "cfi_program.h"

#include <stddef.h>

enum {
	DW_CFA_nop = 0x00,
	DW_CFA_set_loc = 0x01,
	DW_CFA_advance_loc1 = 0x02,
	DW_CFA_advance_loc2 = 0x03,
	DW_CFA_advance_loc4 = 0x04,
	DW_CFA_offset_extended = 0x05,
	DW_CFA_restore_extended = 0x06,
	DW_CFA_undefined = 0x07,
	DW_CFA_same_value = 0x08,
	DW_CFA_register = 0x09,
	DW_CFA_remember_state = 0x0a,
	DW_CFA_restore_state = 0x0b,
	DW_CFA_def_cfa = 0x0c,
	DW_CFA_def_cfa_register = 0x0d,
	DW_CFA_def_cfa_offset = 0x0e,
	DW_CFA_def_cfa_expression = 0x0f,
	DW_CFA_expression = 0x10,
	DW_CFA_offset_extended_sf = 0x11,
	DW_CFA_def_cfa_sf = 0x12,
	DW_CFA_def_cfa_offset_sf = 0x13,
	DW_CFA_val_offset = 0x14,
	DW_CFA_val_offset_sf = 0x15,
	DW_CFA_val_expression = 0x16,
	DW_CFA_GNU_args_size = 0x2e,
	DW_CFA_GNU_negative_offset_extended = 0x2f,
	/* The high two bits say the operation, the low six are its operand. */
	DW_CFA_advance_loc = 0x40,
	DW_CFA_offset = 0x80,
	DW_CFA_restore = 0xc0,
	DW_CFA_high_mask = 0xc0,
	DW_CFA_low_mask = 0x3f,
};

static unsigned
rule_of(uint64_t reg)
{
	switch (reg) {
	case CFI_REGISTER_BX:
		return CFI_RULE_BX;
	case CFI_REGISTER_FP:
		return CFI_RULE_FP;
	case CFI_REGISTER_RA:
		return CFI_RULE_RA;
	default:
		return CFI_RULE_NONE;
	}
}

static void
set_rule(struct cfi_program *run, uint64_t reg, enum cfi_rule_how how,
	 int64_t offset)
{
	unsigned i = rule_of(reg);

	if (i == CFI_RULE_NONE)
		return;
	run->now.at[i].how = how;
	run->now.at[i].offset = offset;
}

/* offset * data_align, where a corrupt product wraps. */
static int64_t
factored(const struct cfi_program *run, uint64_t offset)
{
	return (int64_t)(offset * (uint64_t)run->data_align);
}

static void
restore_rule(struct cfi_program *run, uint64_t reg)
{
	unsigned i = rule_of(reg);

	if (i != CFI_RULE_NONE)
		run->now.at[i] = run->initial.at[i];
}

static const unsigned char *
take_expression(struct cfi_program *run)
{
	const unsigned char *start = run->in.p;
	uint64_t length = dwarf_uleb(&run->in);

	dwarf_skip(&run->in, length);
	return start;
}

static void
set_rule_expression(struct cfi_program *run, uint64_t reg)
{
	unsigned i = rule_of(reg);
	const unsigned char *expression = take_expression(run);

	if (i == CFI_RULE_NONE)
		return;
	run->now.at[i].how = CFI_RULE_EXPRESSION;
	run->now.at[i].expression = expression;
}

static void
set_cfa(struct cfi_program *run, uint64_t reg, int64_t offset)
{
	run->now.cfa_register = reg;
	run->now.cfa_offset = offset;
	run->now.cfa_expression = NULL;
}

static void
remember(struct cfi_program *run)
{
	if (run->remembered == CFI_REMEMBERED_MAX)
		dwarf_fail(&run->in);
	else
		run->stack[run->remembered++] = run->now;
}

static void
recall(struct cfi_program *run)
{
	if (run->remembered == 0)
		dwarf_fail(&run->in);
	else
		run->now = run->stack[--run->remembered];
}

/* False once the instructions that follow are about code after pc. */
static bool
advance(struct cfi_program *run, uint64_t delta)
{
	run->location += delta * run->code_align;
	return run->location <= run->pc;
}

/* The instructions that change the CFA's rule; false if op is none. */
static bool
execute_cfa(struct cfi_program *run, uint8_t op)
{
	struct dwarf_reader *in = &run->in;
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = dwarf_uleb(in);
		set_cfa(run, reg, (int64_t)dwarf_uleb(in));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = dwarf_uleb(in);
		set_cfa(run, reg, factored(run, (uint64_t)dwarf_sleb(in)));
		return true;
	case DW_CFA_def_cfa_register:
		set_cfa(run, dwarf_uleb(in), run->now.cfa_offset);
		return true;
	case DW_CFA_def_cfa_offset:
		run->now.cfa_offset = (int64_t)dwarf_uleb(in);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		run->now.cfa_offset = factored(run, (uint64_t)dwarf_sleb(in));
		return true;
	case DW_CFA_def_cfa_expression:
		run->now.cfa_expression = take_expression(run);
		return true;
	default:
		return false;
	}
}

/* The instructions that change a register's rule; false if op is none. */
static bool
execute_rule(struct cfi_program *run, uint8_t op)
{
	struct dwarf_reader *in = &run->in;
	uint64_t reg = dwarf_uleb(in);

	switch (op) {
	case DW_CFA_offset_extended:
		set_rule(run, reg, CFI_RULE_CFA, factored(run, dwarf_uleb(in)));
		return true;
	case DW_CFA_offset_extended_sf:
		set_rule(run, reg, CFI_RULE_CFA,
			 factored(run, (uint64_t)dwarf_sleb(in)));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		set_rule(run, reg, CFI_RULE_CFA,
			 factored(run, -dwarf_uleb(in)));
		return true;
	case DW_CFA_restore_extended:
		restore_rule(run, reg);
		return true;
	case DW_CFA_undefined:
		set_rule(run, reg, CFI_RULE_UNDEFINED, 0);
		return true;
	case DW_CFA_same_value:
		set_rule(run, reg, CFI_RULE_SAME, 0);
		return true;
	case DW_CFA_register:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		(void)dwarf_uleb(in);
		set_rule(run, reg, CFI_RULE_OTHER, 0);
		return true;
	case DW_CFA_val_expression:
		(void)take_expression(run);
		set_rule(run, reg, CFI_RULE_OTHER, 0);
		return true;
	case DW_CFA_expression:
		set_rule_expression(run, reg);
		return true;
	default:
		return false;
	}
}

/* One instruction; false if the program is done, or wrong. */
static bool
execute(struct cfi_program *run)
{
	struct dwarf_reader *in = &run->in;
	uint8_t op = dwarf_u8(in);
	uint8_t low = op & DW_CFA_low_mask;

	switch (op & DW_CFA_high_mask) {
	case DW_CFA_advance_loc:
		return advance(run, low);
	case DW_CFA_offset:
		set_rule(run, low, CFI_RULE_CFA, factored(run, dwarf_uleb(in)));
		return true;
	case DW_CFA_restore:
		restore_rule(run, low);
		return true;
	default:
		break;
	}
	switch (op) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_set_loc:
		run->location = dwarf_pointer(in, run->encoding, run->data);
		return run->location <= run->pc;
	case DW_CFA_advance_loc1:
		return advance(run, dwarf_u8(in));
	case DW_CFA_advance_loc2:
		return advance(run, dwarf_u16(in));
	case DW_CFA_advance_loc4:
		return advance(run, dwarf_u32(in));
	case DW_CFA_remember_state:
		remember(run);
		return true;
	case DW_CFA_restore_state:
		recall(run);
		return true;
	case DW_CFA_GNU_args_size:
		(void)dwarf_uleb(in);
		return true;
	default:
		if (execute_cfa(run, op) || execute_rule(run, op))
			return true;
		dwarf_fail(in);
		return false;
	}
}

void
cfi_execute(struct cfi_program *run, const struct dwarf_reader *instructions)
{
	run->in = *instructions;
	while (dwarf_more(&run->in) && execute(run))
		;
}
