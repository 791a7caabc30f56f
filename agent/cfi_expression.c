/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_expression.c - a stack machine over "register plus number".
 *
 * Operations: DWARF 5 §2.5.1. Expressions have no loops here: branches are
 * not among the operations, so the work is bounded by their length.
 */
#include "cfi_expression.h"

#include "compiler.h"

enum {
	DW_OP_deref = 0x06,
	DW_OP_const1u = 0x08,
	DW_OP_const1s = 0x09,
	DW_OP_const2u = 0x0a,
	DW_OP_const2s = 0x0b,
	DW_OP_const4u = 0x0c,
	DW_OP_const4s = 0x0d,
	DW_OP_constu = 0x10,
	DW_OP_consts = 0x11,
	DW_OP_and = 0x1a,
	DW_OP_minus = 0x1c,
	DW_OP_plus = 0x22,
	DW_OP_plus_uconst = 0x23,
	DW_OP_shl = 0x24,
	DW_OP_ge = 0x2a,
	DW_OP_lit0 = 0x30,
	DW_OP_lit31 = 0x4f,
	DW_OP_breg3 = 0x73,  /* rbx */
	DW_OP_breg6 = 0x76,  /* rbp */
	DW_OP_breg7 = 0x77,  /* rsp */
	DW_OP_breg16 = 0x80, /* the return address: rip */
	DW_OP_nop = 0x96,
};

static bool
push(struct cfi_machine *m, enum cfi_base base, int64_t number)
{
	if (m->depth == CFI_EXPRESSION_DEPTH)
		return false;
	m->stack[m->depth++] = (struct cfi_value){ number, 0, base, false };
	return true;
}

static bool
push_constant(struct cfi_machine *m, struct dwarf_reader *in, uint8_t op)
{
	switch (op) {
	case DW_OP_const1u:
		return push(m, CFI_BASE_NONE, dwarf_u8(in));
	case DW_OP_const1s:
		return push(m, CFI_BASE_NONE, (int8_t)dwarf_u8(in));
	case DW_OP_const2u:
		return push(m, CFI_BASE_NONE, dwarf_u16(in));
	case DW_OP_const2s:
		return push(m, CFI_BASE_NONE, (int16_t)dwarf_u16(in));
	case DW_OP_const4u:
		return push(m, CFI_BASE_NONE, dwarf_u32(in));
	case DW_OP_const4s:
		return push(m, CFI_BASE_NONE, (int32_t)dwarf_u32(in));
	case DW_OP_constu:
		return push(m, CFI_BASE_NONE, (int64_t)dwarf_uleb(in));
	case DW_OP_consts:
		return push(m, CFI_BASE_NONE, dwarf_sleb(in));
	default:
		return false;
	}
}

static void
add(struct cfi_value *to, uint64_t number)
{
	int64_t *part = to->loaded ? &to->second : &to->first;

	/* Unsigned: a corrupt sum wraps, where a signed one is undefined. */
	*part = (int64_t)((uint64_t)*part + number);
}

static bool
is_number(const struct cfi_value *value)
{
	return value->base == CFI_BASE_NONE && !value->loaded;
}

/* The top two elements become one. */
static bool
combine(struct cfi_machine *m, uint8_t op)
{
	struct cfi_value *a, *b, swap;

	if (m->depth < 2)
		return false;
	b = &m->stack[--m->depth];
	a = b - 1;
	if (op == DW_OP_plus && is_number(a)) {
		swap = *a;
		*a = *b;
		*b = swap;
	}
	if (!is_number(b))
		return false;
	if (op == DW_OP_plus || op == DW_OP_minus) {
		uint64_t number = (uint64_t)b->first;

		add(a, op == DW_OP_plus ? number : -number);
		return true;
	}
	if (!is_number(a))
		return false;
	if (op == DW_OP_and)
		a->first &= b->first;
	else if (op == DW_OP_ge)
		a->first = a->first >= b->first;
	else
		a->first = (uint64_t)b->first > 63
				   ? 0
				   : (int64_t)((uint64_t)a->first << b->first);
	return true;
}

/* One operation on what is on the stack already. */
static bool
operate(struct cfi_machine *m, struct dwarf_reader *in, uint8_t op)
{
	struct cfi_value *top;

	if (m->depth == 0)
		return false;
	top = &m->stack[m->depth - 1];
	switch (op) {
	case DW_OP_deref:
		if (top->loaded || top->base == CFI_BASE_NONE)
			return false;
		top->loaded = true;
		return true;
	case DW_OP_plus_uconst:
		add(top, dwarf_uleb(in));
		return true;
	case DW_OP_and:
	case DW_OP_minus:
	case DW_OP_plus:
	case DW_OP_shl:
	case DW_OP_ge:
		return combine(m, op);
	default:
		return false;
	}
}

static bool
step(struct cfi_machine *m, struct dwarf_reader *in, uintptr_t pc)
{
	uint8_t op = dwarf_u8(in);

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		return push(m, CFI_BASE_NONE, op - DW_OP_lit0);
	switch (op) {
	case DW_OP_breg3:
		return push(m, CFI_BASE_BX, dwarf_sleb(in));
	case DW_OP_breg6:
		return push(m, CFI_BASE_FP, dwarf_sleb(in));
	case DW_OP_breg7:
		return push(m, CFI_BASE_SP, dwarf_sleb(in));
	case DW_OP_breg16:
		return push(m, CFI_BASE_NONE,
			    (int64_t)(pc + (uint64_t)dwarf_sleb(in)));
	case DW_OP_nop:
		return true;
	default:
		return push_constant(m, in, op) || operate(m, in, op);
	}
}

struct cfi_value *
cfi_expression(struct cfi_machine *machine, struct dwarf_reader *expression,
	       uintptr_t pc, bool on_stack)
{
	machine->depth = 0;
	if (on_stack)
		(void)push(machine, CFI_BASE_CFA, 0);
	while (dwarf_more(expression))
		if (!step(machine, expression, pc))
			return NULL;
	if (expression->failed || machine->depth == 0)
		return NULL;
	return &machine->stack[machine->depth - 1];
}
