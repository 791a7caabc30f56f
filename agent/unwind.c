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
 * known part of the stack) goes through unwind_step(). Hardly any row asks for
 * bx, so it is not followed until one does; then the walk starts again, slowly,
 *and follows it. The state of a walk is in the caller's scratch memory.
 */
#include "unwind.h"

#include "compiler.h"
#include "frame.h"
#include "modules.h"
#include "row.h"
#include "row_cache.h"
#include "unwind_row.h"
#include "unwind_step.h"

/* What walk_ordinary() stopped at. */
enum stop {
	STOP_END,     /* no frame left to write, or no room for one */
	STOP_MISSED,  /* the frame at ip is not in the cache */
	STOP_SPECIAL, /* the step from the last frame, which has walk->row */
};

int
unwind_init(void)
{
	return row_cache_init();
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
	walk->row = unwind_row_of_module(module, walk->ip, &name, false,
					 walk->cfi_memory);
	/* Where the tables say nothing the stack may: it is read only then. */
	if ((walk->row == ROW_NONE ||
	     (walk->row == ROW_OUTERMOST && name != pc)) &&
	    unwind_may_be_above_signal(walk)) {
		name = pc;
		walk->row = unwind_row_of_module(module, walk->ip, &name, true,
						 walk->cfi_memory);
	}
	*walk->frame = frame_make(number, name - module->bias);
	if (walk->cacheable)
		row_cache_put(pc, walk->salt, walk->row, *walk->frame);
	walk->frame++;
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
	const row_cache_table cache = row_cache_now();
	const uintptr_t low = walk->span.low, high = walk->span.high;
	uint64_t *const frames_end = walk->frames_end;
	uintptr_t ip = walk->ip, sp = walk->sp, fp = walk->fp, cfa, slot;
	uint64_t exact = walk->exact, row = 0, *frame = walk->frame;
	enum stop stop = STOP_END;

	while (ip != 0 && frame < frames_end) {
		stop = STOP_MISSED;
		if (unlikely(!row_cache_get(cache, ip - 1 + exact, salt, &row,
					    frame)))
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
			fp = unwind_load(slot);
		}
		ip = unwind_load(cfa - 8);
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
	walk->switches = 0;
	walk->frame = walk->request->frames;
	walk->frames_end = walk->frame + walk->request->max;
}

/* Opens the stack at sp. False if nothing of it can be read. */
static bool
begin(struct walk *walk)
{
	const struct unwind_request *request = walk->request;
	uintptr_t touched = request->touched;

	if (touched == 0 ||
	    span_own(request->own, touched, request->thread_pointer))
		return unwind_enter(walk, walk->sp);
	span_of_pages(&walk->span, touched, walk->sp);
	walk->on_own = false;
	return true;
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
		switch (unwind_step(walk)) {
		case STEP_ON:
			break;
		case STEP_NEEDS_BX:
			walk->follow_bx = true;
			start(walk);
			if (!begin(walk))
				return break_off(walk, UNWIND_TRUNCATED);
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
	if (begin(walk)) {
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
