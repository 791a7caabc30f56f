/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row.h - how to find the caller of the function at a pc, in 64 bits.
 *
 *	63        40 39      24 23       8 7    6 5    4 3     0
 *	| cfa offset | bx slot  | fp slot | bx at | fp at | kind |
 *
 * The canonical frame address (CFA, DWARF 5 §6.4) is the value of the stack
 * pointer before the call; the return address is always at CFA - 8, and the
 * caller's sp is the CFA. Slots count 8 bytes and are signed, as is the
 * offset, in bytes. bx is the one other register that code in use bases a
 * CFA on: the loader's lazy-binding trampolines do.
 */
#ifndef HEAPAGENT_ROW_H
#define HEAPAGENT_ROW_H

#include <stdbool.h>
#include <stdint.h>

enum row_kind {
	ROW_SP,	       /* CFA = sp + offset */
	ROW_FP,	       /* CFA = fp + offset */
	ROW_BX,	       /* CFA = bx + offset */
	ROW_SP_LOAD,   /* CFA = *(sp + first) + second; see row_load() */
	ROW_FP_LOAD,   /* CFA = *(fp + first) + second */
	ROW_SIGNAL,    /* the caller is in the ucontext at sp */
	ROW_OUTERMOST, /* has no caller */
	ROW_FALLBACK,  /* cannot be expressed: try the frame pointer */
	ROW_NONE,      /* no CFI: likewise */
	ROW_NOWHERE,   /* no code can be there */
};

/* Where the caller's value of a register is. */
enum row_at {
	ROW_AT_SAME, /* still in the register */
	ROW_AT_CFA,  /* at CFA + 8 * slot */
	ROW_AT_FP,   /* at fp + 8 * slot */
	ROW_AT_LOST, /* nowhere */
};

#define ROW_KIND_MASK UINT64_C(0xf)
#define ROW_FP_AT_SHIFT 4
#define ROW_BX_AT_SHIFT 6
#define ROW_FP_SLOT_SHIFT 8
#define ROW_BX_SLOT_SHIFT 24
#define ROW_OFFSET_SHIFT 40

/*
 * Set in every row but those of the ordinary kind: CFA from sp or fp, the
 * caller's fp in its register or at a slot of the CFA.
 */
#define ROW_SPECIAL (UINT64_C(0xe) | UINT64_C(2) << ROW_FP_AT_SHIFT)

/* The bits of a row that say so, to be tested on their own. */
#define ROW_BASE_FP UINT64_C(1)
#define ROW_FP_SAVED (UINT64_C(1) << ROW_FP_AT_SHIFT)

/* The limits of the fields. */
#define ROW_OFFSET_MAX (INT64_C(1) << 23)
#define ROW_SLOT_MAX (INT64_C(1) << 15)
/* In a _LOAD row the offset's low 8 bits are the second addend, in words. */
#define ROW_LOAD_FIRST_MAX (INT64_C(1) << 15)
#define ROW_LOAD_SECOND_MAX (INT64_C(1) << 8)

static inline enum row_kind
row_kind(uint64_t row)
{
	return (enum row_kind)(row & ROW_KIND_MASK);
}

static inline int64_t
row_offset(uint64_t row)
{
	return (int64_t)row >> ROW_OFFSET_SHIFT;
}

static inline enum row_at
row_fp_at(uint64_t row)
{
	return (enum row_at)(row >> ROW_FP_AT_SHIFT & 3);
}

static inline enum row_at
row_bx_at(uint64_t row)
{
	return (enum row_at)(row >> ROW_BX_AT_SHIFT & 3);
}

static inline int64_t
row_fp_slot_bytes(uint64_t row)
{
	return (int64_t)(int16_t)(row >> ROW_FP_SLOT_SHIFT) * 8;
}

static inline int64_t
row_bx_slot_bytes(uint64_t row)
{
	return (int64_t)(int16_t)(row >> ROW_BX_SLOT_SHIFT) * 8;
}

/* The two addends of a ROW_SP_LOAD or ROW_FP_LOAD. */
static inline int64_t
row_load_first(uint64_t row)
{
	return row_offset(row) >> 8;
}

static inline int64_t
row_load_second(uint64_t row)
{
	return (row_offset(row) & 0xff) * 8;
}

#endif
