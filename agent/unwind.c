/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.c - walks a stack by rows; see unwind.h for the contract.
 *
 *	pc -> cache -> row, frame         (walk_ordinary)
 *	   `-> module -> .eh_frame -> row (look_up, once a pc)
 *	row, sp, fp, stack -> the caller's pc, sp, fp
 *
 * walk_ordinary() does the ordinary rows with everything in registers;
 * whatever is special about a step (a row of another kind, a slot outside the
 * known part of the stack) goes through step(). Hardly any row asks for bx, so
 * it is not followed until one does; then the walk starts again, slowly, and
 * follows it. The state of a walk is in the caller's scratch memory.
 */
#include "unwind.h"

#include <stddef.h>
#include <ucontext.h>

#include "cfi.h"
#include "compiler.h"
#include "frame.h"
#include "modules.h"
#include "row.h"
#include "row_cache.h"
#include "unwind_fp.h"
#include "unwind_row.h"

/* One walk. Lies in the caller's scratch memory. */
struct walk {
	const struct unwind_request *request;
	struct span span;
	uintptr_t ip;
	uintptr_t sp;
	uintptr_t fp;	/* 0 where it is not known */
	uint64_t exact; /* 1 if ip is that of an interrupted instruction */
	uint64_t salt;	/* of the cache keys */
	bool cacheable; /* no dlclose ran when the walk began */
	bool follow_bx; /* bx is followed... */
	bool bx_known;	/* ...and was found */
	uintptr_t bx;
	uint64_t *frame; /* the next to write */
	uint64_t *frames_end;
	uint64_t row; /* of the last frame written */
	uint64_t cfi_memory[CFI_MEMORY_BYTES / 8];
};

_Static_assert(sizeof(struct walk) <= sizeof(struct unwind_scratch),
	       "a walk fits the scratch memory");

/* What walk_ordinary() stopped at. */
enum stop {
	STOP_END,     /* no frame left to write, or no room for one */
	STOP_MISSED,  /* the frame at ip is not in the cache */
	STOP_SPECIAL, /* the step from the last frame, which has walk->row */
};

enum step {
	STEP_ON,
	STEP_COMPLETE,
	STEP_TRUNCATED,
	STEP_UNCERTAIN, /* a register that is not known leads on */
	STEP_NEEDS_BX,	/* start again and follow it */
};

int
unwind_init(void)
{
	return row_cache_init();
}

static uintptr_t
load(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

/* Writes the frame at ip, works out its row and keeps both. */
static COLD void
look_up(struct walk *walk)
{
	uintptr_t pc = walk->ip - 1 + walk->exact, name = pc;
	unsigned number = modules_find(pc);
	const struct module *module = module_at(number);

	if (number == 0) {
		/* Not kept: a library may be loaded there any time. */
		walk->row = unwind_row_of_stray(pc);
		*walk->frame++ = frame_make(FRAME_MODULE_NONE, pc);
		return;
	}
	walk->row =
		unwind_row_of_module(module, walk->ip, &name, walk->cfi_memory);
	*walk->frame = frame_make(number, name - module->bias);
	if (walk->cacheable)
		row_cache_put(pc, walk->salt, walk->row, *walk->frame);
	walk->frame++;
}

/* True if 8 bytes at address can be read now, after growing if need be. */
static bool
reach(struct walk *walk, uintptr_t address)
{
	return span_holds(&walk->span, address) ||
	       span_grow(&walk->span, address);
}

static enum step
step_signal(struct walk *walk)
{
	const struct unwind_request *request = walk->request;
	const ucontext_t *context = (const ucontext_t *)walk->sp;
	const greg_t *registers = context->uc_mcontext.gregs;

	if (!reach(walk, (uintptr_t)&registers[REG_R8]) ||
	    !reach(walk, (uintptr_t)&registers[REG_RIP]))
		return STEP_TRUNCATED;
	walk->ip = (uintptr_t)registers[REG_RIP];
	walk->fp = (uintptr_t)registers[REG_RBP];
	walk->sp = (uintptr_t)registers[REG_RSP];
	walk->exact = 1;
	walk->bx = (uintptr_t)registers[REG_RBX];
	walk->bx_known = true;
	if (!span_enter(&walk->span, request->own, walk->sp,
			request->thread_pointer))
		return STEP_TRUNCATED;
	return STEP_ON;
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
	caller_fp = load(fp);
	ip = load(fp + 8);
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
		*cfa = load(base) + (uintptr_t)row_load_second(row);
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
	    unwind_is_return_address(load(cfa - 8), walk->cfi_memory))
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
	return reach(walk, at) ? load(at) : walk->fp;
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
		walk->bx = load(at);
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
	/* sp rises with every step, so no walk goes in circles. */
	if (!find_cfa(walk, &cfa) || cfa < walk->sp + 8 ||
	    !reach(walk, cfa - 8))
		return STEP_TRUNCATED;
	fp = caller_fp(walk, cfa);
	if (walk->follow_bx)
		follow_bx(walk, cfa);
	walk->ip = load(cfa - 8);
	walk->sp = cfa;
	walk->fp = fp;
	walk->exact = 0;
	return STEP_ON;
}

/* From the last frame to its caller by walk->row, whatever kind it is. */
static NOINLINE enum step
step(struct walk *walk)
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

/*
 * Writes frames as long as there is room, their rows are in the cache and the
 * steps are ordinary, and says what it stopped at. Not in line: what comes
 * after it needs the stack more than this does.
 */
static NOINLINE enum stop
walk_ordinary(struct walk *walk)
{
	const uint64_t special =
		walk->follow_bx || walk->request->method == UNWIND_FP
			? ~UINT64_C(0)
			: ROW_SPECIAL;
	const uint64_t salt = walk->salt;
	const uintptr_t low = walk->span.low, high = walk->span.high;
	uint64_t *const frames_end = walk->frames_end;
	uintptr_t ip = walk->ip, sp = walk->sp, fp = walk->fp, cfa, slot;
	uint64_t exact = walk->exact, row = 0, *frame = walk->frame;
	enum stop stop = STOP_END;

	while (ip != 0 && frame < frames_end) {
		stop = STOP_MISSED;
		if (unlikely(!row_cache_get(ip - 1 + exact, salt, &row, frame)))
			break;
		frame++;
		stop = STOP_SPECIAL;
		if (unlikely(row & special))
			break;
		cfa = (row & ROW_BASE_FP ? fp : sp) +
		      (uintptr_t)row_offset(row);
		/* sp rises with every step, so no walk goes in circles. */
		if (unlikely(cfa < sp + 8 || cfa > high))
			break;
		if (row & ROW_FP_SAVED) {
			slot = cfa + (uintptr_t)row_fp_slot_bytes(row);
			if (unlikely(slot - low > high - 8 - low))
				break;
			fp = load(slot);
		}
		ip = load(cfa - 8);
		sp = cfa;
		exact = 0;
		stop = STOP_END;
	}
	walk->ip = ip;
	walk->sp = sp;
	walk->fp = fp;
	walk->exact = exact;
	walk->row = row;
	walk->frame = frame;
	return stop;
}

static void
start(struct walk *walk)
{
	const struct unwind_registers *from = &walk->request->registers;

	walk->ip = from->ip;
	walk->sp = from->sp;
	walk->fp = from->fp_known ? from->fp : 0;
	walk->exact = from->exact;
	walk->bx = from->bx;
	walk->bx_known = from->bx_known;
	walk->frame = walk->request->frames;
	walk->frames_end = walk->frame + walk->request->max;
}

static enum unwind_end
break_off(struct walk *walk, enum unwind_end end)
{
	if (walk->frame == walk->frames_end)
		return UNWIND_DEPTH;
	*walk->frame++ =
		end == UNWIND_UNCERTAIN ? FRAME_UNCERTAIN : FRAME_TRUNCATED;
	return end;
}

static enum unwind_end
walk_all(struct walk *walk)
{
	for (;;) {
		switch (walk_ordinary(walk)) {
		case STOP_END:
			return walk->ip == 0 ? UNWIND_COMPLETE : UNWIND_DEPTH;
		case STOP_MISSED:
			look_up(walk);
			break;
		case STOP_SPECIAL:
			break;
		}
		switch (step(walk)) {
		case STEP_ON:
			break;
		case STEP_NEEDS_BX:
			walk->follow_bx = true;
			start(walk);
			break;
		case STEP_COMPLETE:
			return UNWIND_COMPLETE;
		case STEP_TRUNCATED:
			return break_off(walk, UNWIND_TRUNCATED);
		case STEP_UNCERTAIN:
			return break_off(walk, UNWIND_UNCERTAIN);
		}
	}
}

enum unwind_end
unwind_stack(const struct unwind_request *request, unsigned *count)
{
	struct walk *walk = (struct walk *)request->scratch;
	uint64_t generation = modules_generation();
	enum unwind_end end;

	walk->request = request;
	walk->cacheable = generation != 0;
	walk->salt = row_cache_salt(generation);
	walk->follow_bx = false;
	start(walk);
	if (span_enter(&walk->span, request->own, walk->sp,
		       request->thread_pointer)) {
		end = walk_all(walk);
	} else {
		/* Nothing can be read, but the first frame is known. */
		if (walk->ip != 0)
			look_up(walk);
		end = break_off(walk, UNWIND_TRUNCATED);
	}
	if (walk->frame == request->frames) {
		/* It began at address 0: a call of a null pointer. */
		*walk->frame++ = FRAME_TRUNCATED;
		end = UNWIND_TRUNCATED;
	}
	*count = (unsigned)(walk->frame - request->frames);
	return end;
}
