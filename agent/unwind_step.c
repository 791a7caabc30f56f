/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_step.c - from a frame to its caller, whatever its row is, reading
 * nothing that is not known to be readable; see unwind_step.h.
 */
#include "unwind_step.h"

#include <stddef.h>
#include <ucontext.h>

#include "compiler.h"
#include "frame.h"
#include "modules.h"
#include "row.h"
#include "sys.h"
#include "unwind_fp.h"
#include "unwind_row.h"

/*
 * True if 8 bytes at address can be read now, after asking if need be. Of the
 * thread's own stack all is known, and nothing asked: a sandbox may kill for
 * the question.
 */
static bool
reach(struct walk *walk, uintptr_t address)
{
	return span_holds(&walk->span, address) ||
	       (!walk->on_own && span_reach(&walk->span, address));
}

bool
unwind_enter(struct walk *walk, uintptr_t address)
{
	const struct unwind_request *request = walk->request;

	span_of_pages(&walk->span, address, address + 1);
	walk->on_own = span_own(request->own, address, request->thread_pointer);
	if (walk->on_own)
		walk->span.high = request->own->high;
	else if (!sys_readable(address))
		walk->span.high = walk->span.low;
	return walk->span.high > walk->span.low;
}

static bool
is_above_signal(struct walk *walk)
{
	const ucontext_t *context = (const ucontext_t *)walk->sp;
	const greg_t *registers = context->uc_mcontext.gregs;
	/* The code segment of 64-bit programs: __USER_CS, arch/x86. */
	const uint16_t user_cs = 0x33;

	return reach(walk, (uintptr_t)&registers[REG_CSGSFS]) &&
	       (uint16_t)registers[REG_CSGSFS] == user_cs;
}

bool
unwind_may_be_above_signal(struct walk *walk)
{
	const ucontext_t *context = (const ucontext_t *)walk->sp;
	uintptr_t at = (uintptr_t)&context->uc_mcontext.gregs[REG_CSGSFS];

	/*
	 * A stack that its program made out of a part of the thread's may end
	 * at sp, with a guard above it.
	 */
	if (walk->on_own && ((at + 7) ^ (walk->sp - 1)) >= SPAN_PAGE_BYTES &&
	    !sys_readable(at))
		return false;
	return is_above_signal(walk);
}

static enum step
step_signal(struct walk *walk)
{
	const ucontext_t *context = (const ucontext_t *)walk->sp;
	const greg_t *registers = context->uc_mcontext.gregs;

	if (!is_above_signal(walk) ||
	    !reach(walk, (uintptr_t)&registers[REG_R8]) ||
	    !reach(walk, (uintptr_t)&registers[REG_RIP]))
		return STEP_TRUNCATED;
	walk->ip = (uintptr_t)registers[REG_RIP];
	walk->fp = (uintptr_t)registers[REG_RBP];
	walk->sp = (uintptr_t)registers[REG_RSP];
	walk->exact = 1;
	walk->bx = (uintptr_t)registers[REG_RBX];
	walk->bx_known = true;
	return unwind_enter(walk, walk->sp) ? STEP_ON : STEP_TRUNCATED;
}

/* 0 is no frame pointer; a saved one that is 0 is as good as none. */
static bool
fp_is_unknown(const struct walk *walk)
{
	return walk->fp == 0 && !walk->request->registers.fp_known;
}

/*
 * By the frame pointer, where nothing better is known. Plausible only if it
 * points above sp and what lies there is a return address: into a module, or,
 * from code of no module, to more such code with a frame pointer of its own.
 */
static enum step
step_frame_pointer(struct walk *walk)
{
	uintptr_t fp = walk->fp, ip, caller_fp;
	bool from_module = frame_module(walk->frame[-1]) != 0;
	unsigned number;

	if (fp_is_unknown(walk))
		return STEP_UNCERTAIN;
	if (fp == 0 && walk->request->method == UNWIND_FP)
		return STEP_COMPLETE;
	if (fp < walk->sp || fp % 8 != 0 || !reach(walk, fp) ||
	    !reach(walk, fp + 8))
		return STEP_TRUNCATED;
	caller_fp = unwind_load(fp);
	ip = unwind_load(fp + 8);
	number = ip ? modules_find(ip - 1) : 0;
	if (number != 0 && !unwind_in_text(module_at(number), ip - 1))
		return STEP_TRUNCATED;
	/* The ABI (3.4.1) marks the outermost frame by an fp of 0. */
	if (ip == 0 && caller_fp != 0)
		return STEP_TRUNCATED;
	if (number == 0 && ip != 0 &&
	    (from_module || caller_fp <= fp || !reach(walk, caller_fp)))
		return STEP_TRUNCATED;
	walk->ip = ip;
	walk->sp = fp + 16;
	walk->fp = caller_fp;
	walk->exact = 0;
	walk->bx_known = false;
	return STEP_ON;
}

static bool
find_cfa(struct walk *walk, uintptr_t *cfa)
{
	uint64_t row = walk->row;
	uintptr_t base = row_kind(row) == ROW_FP_LOAD ? walk->fp : walk->sp;

	switch (row_kind(row)) {
	case ROW_SP:
		*cfa = walk->sp + (uintptr_t)row_offset(row);
		return true;
	case ROW_FP:
		*cfa = walk->fp + (uintptr_t)row_offset(row);
		return true;
	case ROW_BX:
		*cfa = walk->bx + (uintptr_t)row_offset(row);
		return walk->bx_known;
	case ROW_SP_LOAD:
	case ROW_FP_LOAD:
		base += (uintptr_t)row_load_first(row);
		if (!reach(walk, base))
			return false;
		*cfa = unwind_load(base) + (uintptr_t)row_load_second(row);
		return true;
	default:
		return false;
	}
}

/*
 * Finds the fp of the last frame by its code. The row then tells where the
 * return address is: if none is there, the code is not what it seems.
 */
static NOINLINE bool
recover_fp(struct walk *walk)
{
	const struct module *module = module_at(frame_module(walk->frame[-1]));
	struct unwind_fp_code code = {
		.section = unwind_section(module),
		.text_start = module->bias + module->text_start,
		.text_end = module->bias + module->text_end,
		.cfi_memory = walk->cfi_memory,
		.distances = walk->request->recovery,
	};
	uintptr_t cfa;
	int64_t distance;

	if (code.distances == NULL || frame_module(walk->frame[-1]) == 0)
		return false;
	distance = unwind_fp_distance(&code, walk->ip - 1 + walk->exact);
	if (distance < 0)
		return false;
	walk->fp = walk->sp + (uintptr_t)distance;
	if (find_cfa(walk, &cfa) && cfa >= walk->sp + 8 &&
	    reach(walk, cfa - 8) &&
	    unwind_is_return_address(unwind_load(cfa - 8), walk->cfi_memory))
		return true;
	walk->fp = 0;
	return false;
}

/* The caller's fp by the row; one that cannot be read is kept as it is. */
static uintptr_t
caller_fp(struct walk *walk, uintptr_t cfa)
{
	uintptr_t at = (uintptr_t)row_fp_slot_bytes(walk->row);

	switch (row_fp_at(walk->row)) {
	case ROW_AT_CFA:
		at += cfa;
		break;
	case ROW_AT_FP:
		at += walk->fp;
		break;
	case ROW_AT_LOST:
		return 0;
	default:
		return walk->fp;
	}
	return reach(walk, at) ? unwind_load(at) : walk->fp;
}

/* Brings bx from the frame of the last row to its caller's. */
static void
follow_bx(struct walk *walk, uintptr_t cfa)
{
	uintptr_t at = (uintptr_t)row_bx_slot_bytes(walk->row);

	switch (row_bx_at(walk->row)) {
	case ROW_AT_CFA:
		at += cfa;
		break;
	case ROW_AT_FP:
		at += walk->fp;
		break;
	case ROW_AT_LOST:
		walk->bx_known = false;
		return;
	default:
		return;
	}
	walk->bx_known = reach(walk, at);
	if (walk->bx_known)
		walk->bx = unwind_load(at);
}

/*
 * Makes the return address below the CFA readable. sp rises with every step, so
 * no walk goes in circles, but where the CFA is loaded: that may lead to
 * another stack.
 */
static bool
go_to(struct walk *walk, uintptr_t cfa)
{
	enum row_kind kind = row_kind(walk->row);
	bool rises = cfa >= walk->sp + 8;

	if (rises && reach(walk, cfa - 8))
		return true;
	if ((kind != ROW_SP_LOAD && kind != ROW_FP_LOAD) || cfa % 8 != 0 ||
	    walk->switches == SWITCHES_MAX)
		return false;
	walk->switches++;
	return unwind_enter(walk, cfa - 8);
}

/* A step by a row that says where the CFA is. */
static enum step
step_cfa(struct walk *walk)
{
	uintptr_t cfa, fp;
	enum row_kind kind = row_kind(walk->row);

	if (kind == ROW_BX && !walk->follow_bx)
		return STEP_NEEDS_BX;
	if (kind == ROW_BX && !walk->bx_known &&
	    !walk->request->registers.fp_known)
		return STEP_UNCERTAIN;
	if ((kind == ROW_FP || kind == ROW_FP_LOAD) && fp_is_unknown(walk) &&
	    !recover_fp(walk))
		return STEP_UNCERTAIN;
	if (!find_cfa(walk, &cfa) || !go_to(walk, cfa))
		return STEP_TRUNCATED;
	fp = caller_fp(walk, cfa);
	if (walk->follow_bx)
		follow_bx(walk, cfa);
	walk->ip = unwind_load(cfa - 8);
	walk->sp = cfa;
	walk->fp = fp;
	walk->exact = 0;
	return STEP_ON;
}

NOINLINE enum step
unwind_step(struct walk *walk)
{
	switch (row_kind(walk->row)) {
	case ROW_SIGNAL:
		return step_signal(walk);
	case ROW_OUTERMOST:
		return STEP_COMPLETE;
	case ROW_NOWHERE:
		/* What the row before led to is no frame. */
		walk->frame -= walk->frame - walk->request->frames > 1;
		return STEP_TRUNCATED;
	case ROW_FALLBACK:
	case ROW_NONE:
		return step_frame_pointer(walk);
	default:
		return walk->request->method == UNWIND_FP
			       ? step_frame_pointer(walk)
			       : step_cfa(walk);
	}
}
