/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi.c - from .eh_frame to a row; see cfi.h.
 *
 *	.eh_frame_hdr's table -> FDE -> its CIE -> the CIE's instructions,
 *	the FDE's up to pc -> rules of CFA, fp, bx, return address -> row
 *
 * Only the four rules that a row holds are followed; instructions about other
 * registers are read and forgotten. Everything is worked out in the caller's
 * memory, because the stack this runs on may be tiny.
 */
#include "cfi.h"

#include <stdbool.h>
#include <string.h>

#include "cfi_expression.h"
#include "compiler.h"
#include "dwarf_reader.h"

/* DWARF register numbers, x86-64 psABI figure 3.36. */
enum { REGISTER_BX = 3, REGISTER_FP = 6, REGISTER_SP = 7, REGISTER_RA = 16 };

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

enum rule_how {
	RULE_SAME,
	RULE_UNDEFINED,
	RULE_CFA,	 /* at CFA + offset */
	RULE_EXPRESSION, /* at what the expression gives */
	RULE_OTHER,	 /* anything that a row cannot say */
};

struct rule {
	enum rule_how how;
	union {
		int64_t offset;
		const unsigned char *expression; /* its length comes first */
	};
};

enum { RULE_BX, RULE_FP, RULE_RA, RULE_COUNT, RULE_NONE = RULE_COUNT };

struct rules {
	struct rule at[RULE_COUNT];
	const unsigned char *cfa_expression; /* NULL: a register and offset */
	int64_t cfa_offset;
	uint64_t cfa_register;
};

#define REMEMBERED_MAX 16

/* One program of CFA instructions, and what it works on. */
struct program {
	struct dwarf_reader in;
	uintptr_t pc;	    /* the row is wanted of this place */
	uintptr_t location; /* the instructions have come to this one */
	uint64_t code_align;
	int64_t data_align;
	uintptr_t data;		  /* base of DW_EH_PE_datarel */
	const unsigned char *end; /* of the section */
	uint8_t encoding;
	bool augmented; /* the CIE's string starts with 'z' */
	bool signal_frame;
	unsigned remembered;
	struct rules now;
	struct rules initial;
	struct rules stack[REMEMBERED_MAX];
};
_Static_assert(sizeof(struct program) <= CFI_MEMORY_BYTES, "given by caller");

struct table_entry {
	int32_t start; /* both relative to .eh_frame_hdr */
	int32_t fde;
};

static unsigned
rule_of(uint64_t reg)
{
	switch (reg) {
	case REGISTER_BX:
		return RULE_BX;
	case REGISTER_FP:
		return RULE_FP;
	case REGISTER_RA:
		return RULE_RA;
	default:
		return RULE_NONE;
	}
}

static void
set_rule(struct program *run, uint64_t reg, enum rule_how how, int64_t offset)
{
	unsigned i = rule_of(reg);

	if (i == RULE_NONE)
		return;
	run->now.at[i].how = how;
	run->now.at[i].offset = offset;
}

/* offset * data_align, where a corrupt product wraps. */
static int64_t
factored(const struct program *run, uint64_t offset)
{
	return (int64_t)(offset * (uint64_t)run->data_align);
}

static void
restore_rule(struct program *run, uint64_t reg)
{
	unsigned i = rule_of(reg);

	if (i != RULE_NONE)
		run->now.at[i] = run->initial.at[i];
}

static const unsigned char *
take_expression(struct program *run)
{
	const unsigned char *start = run->in.p;
	uint64_t length = dwarf_uleb(&run->in);

	dwarf_skip(&run->in, length);
	return start;
}

/* The bytes of one that take_expression() has checked. */
static struct dwarf_reader
open_expression(const struct program *run, const unsigned char *start)
{
	struct dwarf_reader in = { start, run->end, false };
	uint64_t length = dwarf_uleb(&in);

	in.end = in.p + length;
	return in;
}

static void
set_rule_expression(struct program *run, uint64_t reg)
{
	unsigned i = rule_of(reg);
	const unsigned char *expression = take_expression(run);

	if (i == RULE_NONE)
		return;
	run->now.at[i].how = RULE_EXPRESSION;
	run->now.at[i].expression = expression;
}

static void
set_cfa(struct program *run, uint64_t reg, int64_t offset)
{
	run->now.cfa_register = reg;
	run->now.cfa_offset = offset;
	run->now.cfa_expression = NULL;
}

static void
remember(struct program *run)
{
	if (run->remembered == REMEMBERED_MAX)
		dwarf_fail(&run->in);
	else
		run->stack[run->remembered++] = run->now;
}

static void
recall(struct program *run)
{
	if (run->remembered == 0)
		dwarf_fail(&run->in);
	else
		run->now = run->stack[--run->remembered];
}

/* False once the instructions that follow are about code after pc. */
static bool
advance(struct program *run, uint64_t delta)
{
	run->location += delta * run->code_align;
	return run->location <= run->pc;
}

/* The instructions that change the CFA's rule; false if op is none. */
static bool
execute_cfa(struct program *run, uint8_t op)
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
execute_rule(struct program *run, uint8_t op)
{
	struct dwarf_reader *in = &run->in;
	uint64_t reg = dwarf_uleb(in);

	switch (op) {
	case DW_CFA_offset_extended:
		set_rule(run, reg, RULE_CFA, factored(run, dwarf_uleb(in)));
		return true;
	case DW_CFA_offset_extended_sf:
		set_rule(run, reg, RULE_CFA,
			 factored(run, (uint64_t)dwarf_sleb(in)));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		set_rule(run, reg, RULE_CFA, factored(run, -dwarf_uleb(in)));
		return true;
	case DW_CFA_restore_extended:
		restore_rule(run, reg);
		return true;
	case DW_CFA_undefined:
		set_rule(run, reg, RULE_UNDEFINED, 0);
		return true;
	case DW_CFA_same_value:
		set_rule(run, reg, RULE_SAME, 0);
		return true;
	case DW_CFA_register:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		(void)dwarf_uleb(in);
		set_rule(run, reg, RULE_OTHER, 0);
		return true;
	case DW_CFA_val_expression:
		(void)take_expression(run);
		set_rule(run, reg, RULE_OTHER, 0);
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
execute(struct program *run)
{
	struct dwarf_reader *in = &run->in;
	uint8_t op = dwarf_u8(in);
	uint8_t low = op & DW_CFA_low_mask;

	switch (op & DW_CFA_high_mask) {
	case DW_CFA_advance_loc:
		return advance(run, low);
	case DW_CFA_offset:
		set_rule(run, low, RULE_CFA, factored(run, dwarf_uleb(in)));
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

/* The bytes of a CIE or FDE after its length; failed if there is none. */
static struct dwarf_reader
open_entry(const struct cfi_section *section, uintptr_t at)
{
	struct dwarf_reader in = { (const unsigned char *)at,
				   (const unsigned char *)section->end, false };
	uint64_t length;

	if (at < section->start || at >= section->end) {
		in.p = in.end;
		in.failed = true;
		return in;
	}
	length = dwarf_u32(&in);
	if (length == UINT32_MAX)
		length = dwarf_u64(&in);
	if (length == 0 || length > (uint64_t)(in.end - in.p))
		dwarf_fail(&in);
	else
		in.end = in.p + length;
	return in;
}

/* Reads what the letters of the augmentation string announce. */
static void
read_augmentation(struct program *run, struct dwarf_reader *in,
		  const unsigned char *letters)
{
	uint64_t length = dwarf_uleb(in);
	const unsigned char *start = in->p;
	uint8_t encoding;

	struct dwarf_reader data;

	dwarf_skip(in, length);
	if (in->failed)
		return;
	data = (struct dwarf_reader){ start, in->p, false };
	for (; *letters != '\0'; letters++) {
		switch (*letters) {
		case 'R':
			run->encoding = dwarf_u8(&data);
			break;
		case 'P':
			encoding = dwarf_u8(&data);
			if (encoding != DW_EH_PE_omit)
				(void)dwarf_pointer(&data, encoding, 0);
			break;
		case 'L':
			(void)dwarf_u8(&data);
			break;
		case 'S':
			run->signal_frame = true;
			break;
		case 'B':
			break;
		default:
			/* Unknown, and so is whether an R comes after it. */
			dwarf_fail(&data);
		}
	}
	if (data.failed)
		dwarf_fail(in);
}

/* Reads the CIE; what is left of *in are its instructions. */
static void
read_cie(struct program *run, struct dwarf_reader *in)
{
	uint32_t id = dwarf_u32(in);
	uint8_t version = dwarf_u8(in);
	const unsigned char *letters = in->p;
	uint64_t return_register;

	while (dwarf_u8(in) != '\0')
		;
	run->code_align = dwarf_uleb(in);
	run->data_align = dwarf_sleb(in);
	return_register = version == 1 ? dwarf_u8(in) : dwarf_uleb(in);
	run->encoding = DW_EH_PE_absptr;
	if (id != 0 || (version != 1 && version != 3) || in->failed ||
	    return_register != REGISTER_RA)
		dwarf_fail(in);
	else if ((run->augmented = *letters == 'z'))
		read_augmentation(run, in, letters + 1);
	else if (*letters != '\0')
		dwarf_fail(in);
}

/* The FDE's header up to its instructions; false if pc is not in its range. */
static bool
read_fde(struct program *run, struct dwarf_reader *in,
	 const struct cfi_section *section, struct dwarf_reader *cie)
{
	uintptr_t at = (uintptr_t)in->p;
	uint32_t distance = dwarf_u32(in);
	uint64_t start, size;

	if (in->failed || distance == 0)
		return false;
	*cie = open_entry(section, at - distance);
	read_cie(run, cie);
	if (cie->failed)
		return false;
	start = dwarf_pointer(in, run->encoding, section->header);
	size = dwarf_pointer(in, run->encoding & DW_EH_PE_format_mask, 0);
	if (in->failed || run->pc - start >= size)
		return false;
	if (run->augmented)
		dwarf_skip(in, dwarf_uleb(in));
	run->location = start;
	return !in->failed;
}

/* Puts a register's rule into the fields of a row. */
static uint64_t
encode_rule(const struct program *run, const struct rule *rule,
	    unsigned at_shift, unsigned slot_shift)
{
	struct cfi_value value = { rule->offset, 0, CFI_BASE_CFA, false };
	enum row_at at = ROW_AT_LOST;

	if (rule->how == RULE_SAME)
		return 0;
	if (rule->how == RULE_EXPRESSION) {
		if (!cfi_expression(open_expression(run, rule->expression),
				    run->pc, true, &value))
			value.loaded = true;
	} else if (rule->how != RULE_CFA) {
		value.loaded = true;
	}
	if (!value.loaded && value.first % 8 == 0 &&
	    value.first / 8 < ROW_SLOT_MAX &&
	    value.first / 8 >= -ROW_SLOT_MAX) {
		if (value.base == CFI_BASE_CFA)
			at = ROW_AT_CFA;
		else if (value.base == CFI_BASE_FP)
			at = ROW_AT_FP;
	}
	if (at == ROW_AT_LOST)
		value.first = 0;
	return (uint64_t)at << at_shift | (uint64_t)(uint16_t)(value.first / 8)
						  << slot_shift;
}

/* The CFA as a kind and an offset, or ROW_FALLBACK. */
static uint64_t
encode_loaded(const struct cfi_value *cfa)
{
	uint64_t kind = cfa->base == CFI_BASE_SP ? ROW_SP_LOAD : ROW_FP_LOAD;

	if ((cfa->base != CFI_BASE_SP && cfa->base != CFI_BASE_FP) ||
	    cfa->first >= ROW_LOAD_FIRST_MAX ||
	    cfa->first < -ROW_LOAD_FIRST_MAX || cfa->second < 0 ||
	    cfa->second % 8 != 0 || cfa->second / 8 >= ROW_LOAD_SECOND_MAX)
		return ROW_FALLBACK;
	return kind | ((uint64_t)cfa->first << 8 | (uint64_t)cfa->second / 8)
			      << ROW_OFFSET_SHIFT;
}

static uint64_t
encode_cfa(const struct cfi_value *cfa)
{
	uint64_t kind;

	if (cfa->loaded)
		return encode_loaded(cfa);
	if (cfa->first >= ROW_OFFSET_MAX || cfa->first < -ROW_OFFSET_MAX)
		return ROW_FALLBACK;
	switch (cfa->base) {
	case CFI_BASE_SP:
		kind = ROW_SP;
		break;
	case CFI_BASE_FP:
		kind = ROW_FP;
		break;
	case CFI_BASE_BX:
		kind = ROW_BX;
		break;
	default:
		return ROW_FALLBACK;
	}
	return kind | (uint64_t)cfa->first << ROW_OFFSET_SHIFT;
}

static bool
cfa_value(const struct program *run, struct cfi_value *cfa)
{
	const struct rules *now = &run->now;

	if (now->cfa_expression != NULL)
		return cfi_expression(open_expression(run, now->cfa_expression),
				      run->pc, false, cfa);
	*cfa = (struct cfi_value){ now->cfa_offset, 0, CFI_BASE_NONE, false };
	if (now->cfa_register == REGISTER_SP)
		cfa->base = CFI_BASE_SP;
	else if (now->cfa_register == REGISTER_FP)
		cfa->base = CFI_BASE_FP;
	else if (now->cfa_register == REGISTER_BX)
		cfa->base = CFI_BASE_BX;
	return true;
}

static uint64_t
encode(const struct program *run)
{
	const struct rule *ra = &run->now.at[RULE_RA];
	struct cfi_value cfa;
	uint64_t row;

	if (ra->how == RULE_UNDEFINED)
		return ROW_OUTERMOST;
	if (ra->how != RULE_CFA || ra->offset != -8 || !cfa_value(run, &cfa))
		return ROW_FALLBACK;
	row = encode_cfa(&cfa);
	if (row == ROW_FALLBACK)
		return row;
	return row |
	       encode_rule(run, &run->now.at[RULE_FP], ROW_FP_AT_SHIFT,
			   ROW_FP_SLOT_SHIFT) |
	       encode_rule(run, &run->now.at[RULE_BX], ROW_BX_AT_SHIFT,
			   ROW_BX_SLOT_SHIFT);
}

static void
execute_all(struct program *run, struct dwarf_reader in)
{
	run->in = in;
	while (dwarf_more(&run->in) && execute(run))
		;
}

/* The row from the instructions of an FDE and its CIE. */
static uint64_t
row_of_fde(struct program *run, struct dwarf_reader fde,
	   struct dwarf_reader cie)
{
	if (run->signal_frame)
		return ROW_SIGNAL;
	execute_all(run, cie);
	if (run->in.failed)
		return ROW_FALLBACK;
	run->initial = run->now;
	execute_all(run, fde);
	return run->in.failed ? ROW_FALLBACK : encode(run);
}

/* Looks at one entry after the other, where there is no table. */
static uint64_t
scan(struct program *run, const struct cfi_section *section, uintptr_t address)
{
	struct dwarf_reader in, cie;

	for (;;) {
		in = open_entry(section, address);
		if (in.failed)
			return ROW_FALLBACK;
		address = (uintptr_t)in.end;
		if (read_fde(run, &in, section, &cie))
			return row_of_fde(run, in, cie);
	}
}

/* The last of the table's entries that starts at or before pc, or NULL. */
static const struct table_entry *
search(const struct table_entry *table, uint64_t count, int64_t pc)
{
	const struct table_entry *found = NULL;

	while (count > 0) {
		uint64_t half = count / 2;

		if (table[half].start <= pc) {
			found = &table[half];
			table = found + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return found;
}

uint64_t
cfi_row(const struct cfi_section *section, uintptr_t pc, void *memory)
{
	struct program *run = memory;
	struct dwarf_reader in = { (const unsigned char *)section->header,
				   (const unsigned char *)section->end, false };
	struct dwarf_reader fde, cie;
	const struct table_entry *entry;
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	uint64_t frame, count;

	if (section->header < section->start || section->header >= section->end)
		return ROW_FALLBACK;
	/* All but the stack, of which only what was written is read. */
	memset(run, 0, offsetof(struct program, stack));
	run->pc = pc;
	run->end = in.end;
	version = dwarf_u8(&in);
	frame_encoding = dwarf_u8(&in);
	count_encoding = dwarf_u8(&in);
	table_encoding = dwarf_u8(&in);
	frame = dwarf_pointer(&in, frame_encoding, section->header);
	if (version != 1 || in.failed)
		return ROW_FALLBACK;
	if (table_encoding != (DW_EH_PE_datarel | DW_EH_PE_sdata4) ||
	    count_encoding == DW_EH_PE_omit)
		return scan(run, section, frame);
	count = dwarf_pointer(&in, count_encoding, section->header);
	if (in.failed ||
	    count > (uint64_t)(in.end - in.p) / sizeof(struct table_entry))
		return ROW_FALLBACK;
	/* The linker aligns it; x86-64 would read it anyhow. */
	entry = search((const struct table_entry *)(uintptr_t)in.p, count,
		       (int64_t)(pc - section->header));
	if (entry == NULL)
		return ROW_FALLBACK;
	fde = open_entry(section,
			 section->header + (uintptr_t)(intptr_t)entry->fde);
	if (!read_fde(run, &fde, section, &cie))
		return ROW_FALLBACK;
	return row_of_fde(run, fde, cie);
}
