/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi.c - from .eh_frame to a row; see cfi.h.
 *
 *	.eh_frame_hdr's table -> FDE -> its CIE -> the CIE's instructions,
 *	the FDE's up to pc -> rules of CFA, fp, bx, return address -> row
 *
 * Everything is worked out in the caller's memory, because the stack this
 * runs on may be tiny.
 */
#include "cfi.h"

#include <stdbool.h>
#include <string.h>

#include "cfi_expression.h"
#include "cfi_program.h"
#include "compiler.h"
#include "dwarf_reader.h"

_Static_assert(sizeof(struct cfi_program) <= CFI_MEMORY_BYTES,
	       "given by the caller");

struct table_entry {
	int32_t start; /* both relative to .eh_frame_hdr */
	int32_t fde;
} __attribute__((packed)); /* as the data may be aligned to nothing */

/* Works out an expression that the program has come by, and checked. */
static struct cfi_value *
evaluate(struct cfi_program *run, const unsigned char *expression,
	 bool on_stack)
{
	struct dwarf_reader *in = &run->in;
	uint64_t length;

	in->p = expression;
	in->end = run->end;
	length = dwarf_uleb(in);
	in->end = in->p + length;
	return cfi_expression(&run->machine, in, run->pc, on_stack);
}

/* Sets *in to what comes after an entry's length; failed if there is none. */
static void
open_entry(const struct cfi_program *run, uintptr_t at, struct dwarf_reader *in)
{
	uint64_t length;

	in->p = (const unsigned char *)at;
	in->end = run->end;
	in->failed = false;
	if (in->p < run->start || in->p >= run->end) {
		dwarf_fail(in);
		return;
	}
	length = dwarf_u32(in);
	if (length == UINT32_MAX)
		length = dwarf_u64(in);
	if (length == 0 || length > (uint64_t)(in->end - in->p))
		dwarf_fail(in);
	else
		in->end = in->p + length;
}

/* Reads what the letters of the augmentation string announce. */
static void
read_augmentation(struct cfi_program *run, const unsigned char *letters)
{
	struct dwarf_reader *in = &run->cie;
	uint64_t length = dwarf_uleb(in);
	const unsigned char *start = in->p;
	struct dwarf_reader data;
	uint8_t encoding;

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

/* Reads run->cie up to its instructions. */
static void
read_cie(struct cfi_program *run)
{
	struct dwarf_reader *in = &run->cie;
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
	/* Without a string, letters may point at the end. */
	run->augmented = !in->failed && *letters == 'z';
	run->signal_frame = false;
	if (id != 0 || (version != 1 && version != 3) || in->failed ||
	    return_register != CFI_REGISTER_RA)
		dwarf_fail(in);
	else if (run->augmented)
		read_augmentation(run, letters + 1);
	else if (*letters != '\0')
		dwarf_fail(in);
}

/*
 * Reads run->fde up to its instructions, and its CIE. False if it is no FDE,
 * is wrong, or is not about pc.
 */
static bool
read_fde(struct cfi_program *run)
{
	struct dwarf_reader *in = &run->fde;
	uintptr_t at = (uintptr_t)in->p;
	uint32_t distance = dwarf_u32(in);

	if (in->failed || distance == 0)
		return false;
	open_entry(run, at - distance, &run->cie);
	read_cie(run);
	if (run->cie.failed)
		return false;
	run->first = dwarf_pointer(in, run->encoding, run->data);
	run->size_bytes =
		dwarf_pointer(in, run->encoding & DW_EH_PE_format_mask, 0);
	if (in->failed || run->pc - run->first >= run->size_bytes)
		return false;
	if (run->augmented)
		dwarf_skip(in, dwarf_uleb(in));
	run->location = run->first;
	return !in->failed;
}

/* The fields of a row for a register that is saved at *value. */
static uint64_t
encode_place(const struct cfi_value *value, unsigned at_shift,
	     unsigned slot_shift)
{
	uint64_t at;

	if (value->base == CFI_BASE_CFA)
		at = ROW_AT_CFA;
	else if (value->base == CFI_BASE_FP)
		at = ROW_AT_FP;
	else
		return (uint64_t)ROW_AT_LOST << at_shift;
	if (value->loaded || value->first % 8 != 0 ||
	    value->first / 8 >= ROW_SLOT_MAX ||
	    value->first / 8 < -ROW_SLOT_MAX)
		return (uint64_t)ROW_AT_LOST << at_shift;
	return at << at_shift | (uint64_t)(uint16_t)(value->first / 8)
					<< slot_shift;
}

static uint64_t
encode_rule(struct cfi_program *run, const struct cfi_rule *rule,
	    unsigned at_shift, unsigned slot_shift)
{
	struct cfi_value *value = &run->machine.stack[0];

	switch (rule->how) {
	case CFI_RULE_SAME:
		return 0;
	case CFI_RULE_CFA:
		*value = (struct cfi_value){ rule->offset, 0, CFI_BASE_CFA,
					     false };
		break;
	case CFI_RULE_EXPRESSION:
		value = evaluate(run, rule->expression, true);
		break;
	default:
		value = NULL;
	}
	if (value == NULL)
		return (uint64_t)ROW_AT_LOST << at_shift;
	return encode_place(value, at_shift, slot_shift);
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

static struct cfi_value *
cfa_value(struct cfi_program *run)
{
	const struct cfi_rules *now = &run->now;
	struct cfi_value *cfa = &run->machine.stack[0];

	if (now->cfa_expression != NULL)
		return evaluate(run, now->cfa_expression, false);
	*cfa = (struct cfi_value){ now->cfa_offset, 0, CFI_BASE_NONE, false };
	if (now->cfa_register == CFI_REGISTER_SP)
		cfa->base = CFI_BASE_SP;
	else if (now->cfa_register == CFI_REGISTER_FP)
		cfa->base = CFI_BASE_FP;
	else if (now->cfa_register == CFI_REGISTER_BX)
		cfa->base = CFI_BASE_BX;
	return cfa;
}

static uint64_t
encode(struct cfi_program *run)
{
	const struct cfi_rule *ra = &run->now.at[CFI_RULE_RA];
	const struct cfi_value *cfa;
	uint64_t row;

	if (ra->how == CFI_RULE_UNDEFINED)
		return ROW_OUTERMOST;
	if (ra->how != CFI_RULE_CFA || ra->offset != -8)
		return ROW_FALLBACK;
	cfa = cfa_value(run);
	row = cfa != NULL ? encode_cfa(cfa) : ROW_FALLBACK;
	if (row == ROW_FALLBACK)
		return row;
	return row |
	       encode_rule(run, &run->now.at[CFI_RULE_FP], ROW_FP_AT_SHIFT,
			   ROW_FP_SLOT_SHIFT) |
	       encode_rule(run, &run->now.at[CFI_RULE_BX], ROW_BX_AT_SHIFT,
			   ROW_BX_SLOT_SHIFT);
}

/* Looks at one entry after the other, where there is no table. */
static bool
scan(struct cfi_program *run, uintptr_t address)
{
	for (;;) {
		open_entry(run, address, &run->fde);
		if (run->fde.failed)
			return false;
		address = (uintptr_t)run->fde.end;
		if (read_fde(run))
			return true;
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

/* Finds the FDE of pc by what .eh_frame_hdr, at *in, says. */
static bool
find_fde(struct cfi_program *run, struct dwarf_reader *in)
{
	uint8_t version = dwarf_u8(in), frame_encoding = dwarf_u8(in);
	uint8_t count_encoding = dwarf_u8(in), table_encoding = dwarf_u8(in);
	uint64_t frame = dwarf_pointer(in, frame_encoding, run->data);
	uint64_t count;
	const struct table_entry *entry;

	if (version != 1 || in->failed)
		return false;
	if (table_encoding != (DW_EH_PE_datarel | DW_EH_PE_sdata4) ||
	    count_encoding == DW_EH_PE_omit)
		return scan(run, frame);
	count = dwarf_pointer(in, count_encoding, run->data);
	if (in->failed ||
	    count > (uint64_t)(in->end - in->p) / sizeof(struct table_entry))
		return false;
	entry = search((const struct table_entry *)(uintptr_t)in->p, count,
		       (int64_t)(run->pc - run->data));
	if (entry == NULL)
		return false;
	open_entry(run, run->data + (uintptr_t)(intptr_t)entry->fde, &run->fde);
	return read_fde(run);
}

/* Sets up *run for pc and finds its FDE. */
static bool
open_fde(struct cfi_program *run, const struct cfi_section *section,
	 uintptr_t pc)
{
	if (section->header < section->start || section->header >= section->end)
		return false;
	/* All but the stack, of which only what was written is read. */
	memset(run, 0, offsetof(struct cfi_program, stack));
	run->pc = pc;
	run->data = section->header;
	run->start = (const unsigned char *)section->start;
	run->end = (const unsigned char *)section->end;
	run->in.p = (const unsigned char *)section->header;
	run->in.end = run->end;
	return find_fde(run, &run->in);
}

static uint64_t
execute(struct cfi_program *run)
{
	cfi_execute(run, &run->cie);
	if (run->in.failed)
		return ROW_FALLBACK;
	run->initial = run->now;
	cfi_execute(run, &run->fde);
	return run->in.failed ? ROW_FALLBACK : encode(run);
}

uint64_t
cfi_row(const struct cfi_section *section, uintptr_t pc, void *memory)
{
	struct cfi_program *run = memory;
	uint64_t row;

	if (!open_fde(run, section, pc))
		return ROW_NONE;
	row = execute(run);
	/*
	 * 'S' says that the frame may not have been called, and code that has
	 * an ordinary row says so, too (OCaml 5's runtime). The kernel's frame
	 * of a signal is the one that no row can express.
	 */
	return row == ROW_FALLBACK && run->signal_frame ? ROW_SIGNAL : row;
}

bool
cfi_function(const struct cfi_section *section, uintptr_t pc, void *memory,
	     struct cfi_function *function)
{
	struct cfi_program *run = memory;

	if (!open_fde(run, section, pc))
		return false;
	function->first = run->first;
	function->end = run->first + run->size_bytes;
	return true;
}
