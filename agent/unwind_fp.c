/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_fp.c - goes through a function's instructions; see unwind_fp.h.
 *
 *	push %rbp; mov %rsp, %rbp     0: from here on the distance counts
 *	push %rbx; sub $24, %rsp      8, 32
 *	je ...                        32 at its target as well
 *	call epoll_wait               32
 *
 * Every instruction is read, in the order of addresses, again and again until
 * nothing more is learnt: a branch hands its distance on to its target. Two
 * ways to one place with two distances, an sp from a register, or an
 * instruction that is not known: then nothing is proven.
 *
 * What follows a call is reached only if the call returns. A distance that got
 * somewhere past a call is therefore weak: one that a branch brings replaces
 * it. Code that no branch leads to is a case of a `switch`, if the function has
 * a jump through a table: it has that jump's distance, weakly.
 */
#include "unwind_fp.h"

#include <stdbool.h>
#include <string.h>

#include "instruction.h"
#include "row.h"
#include "sys.h"

/* What is known of a place: nothing, that fp is not the frame's there, or
 * FIRST plus twice the distance, plus WEAK. */
enum { NOTHING = 0, WEAK = 1, NO_FRAME = 2, FIRST = 4 };
#define DISTANCE_MAX (INT64_C(1) << 28)

#define PAGE_BYTES ((uintptr_t)4096)

/* Three rounds do for what compilers write. */
#define ROUNDS_MAX 16

/* The function, and the part of it that its compiler thought seldom needed. */
#define PARTS_MAX 2

struct part {
	uintptr_t first;
	uintptr_t end;
	int32_t *known; /* of each byte that an instruction starts with */
};

struct search {
	const struct unwind_fp_code *code;
	uintptr_t pc;
	int32_t at_pc;
	struct part parts[PARTS_MAX];
	unsigned part_count;
	int32_t table_jump; /* what is known of a jump through a table */
	bool guess_cases;
	bool changed;
	bool failed;
};

/*
 * Brings what is newly known of a place together with what was. Of two weak
 * distances the newer counts: it may follow from a strong one, found since. If
 * they go on to disagree, the rounds never end, and that is a failure.
 */
static void
learn(struct search *search, int32_t *known, int32_t now)
{
	if (now == NOTHING || now == *known)
		return;
	if (*known == NOTHING || (*known & WEAK) != 0) {
		*known = now;
		search->changed = true;
	} else if ((now & WEAK) == 0) {
		search->failed = true;
	}
}

/* What runs need not be readable (protection keys), whatever its file says. */
static bool
is_readable(uintptr_t first, uintptr_t end)
{
	for (uintptr_t page = first & ~(PAGE_BYTES - 1); page < end;
	     page += PAGE_BYTES)
		if (!sys_readable(page))
			return false;
	return true;
}

/*
 * Takes in the code around an address. False if there is no room for it, or it
 * cannot be read.
 */
static bool
add_part(struct search *search, uintptr_t address)
{
	const struct unwind_fp_code *code = search->code;
	struct cfi_function function;
	struct part *part = &search->parts[search->part_count];
	uintptr_t left = UNWIND_FP_CODE_MAX;

	if (search->part_count > 0)
		left -= part[-1].end - part[-1].first;
	if (search->part_count == PARTS_MAX ||
	    !cfi_function(&code->section, address, code->cfi_memory,
			  &function) ||
	    function.first < code->text_start ||
	    function.end > code->text_end || function.end < function.first ||
	    function.end - function.first > left ||
	    !is_readable(function.first, function.end))
		return false;
	part->first = function.first;
	part->end = function.end;
	part->known = code->distances + (UNWIND_FP_CODE_MAX - left);
	memset(part->known, 0,
	       (part->end - part->first) * sizeof(*part->known));
	search->part_count++;
	search->changed = true;
	return true;
}

/* True if a function begins there, as far as the rows know. */
static bool
is_entry(const struct unwind_fp_code *code, uintptr_t address)
{
	struct cfi_function function;
	uint64_t row;

	if (!cfi_function(&code->section, address, code->cfi_memory, &function))
		return true; /* a PLT entry, another module: not ours at least
			      */
	row = cfi_row(&code->section, address, code->cfi_memory);
	return function.first == address && row_kind(row) == ROW_SP &&
	       row_offset(row) == 8;
}

/* A branch or jump with that known of it. */
static void
branch(struct search *search, uintptr_t target, int32_t known)
{
	for (unsigned i = 0; i < search->part_count; i++) {
		struct part *part = &search->parts[i];

		if (target >= part->first && target < part->end) {
			learn(search, &part->known[target - part->first],
			      known);
			return;
		}
	}
	if (is_entry(search->code, target)) {
		/* A function's last call, made as a jump: no frame is left. */
		search->failed |= known >= FIRST;
		return;
	}
	if (!add_part(search, target))
		search->failed = true;
	else
		branch(search, target, known);
}

/* What is known after an instruction, from what was before it. */
static int32_t
after(struct search *search, int32_t known, const struct instruction *in)
{
	bool framed = known >= FIRST;
	int64_t distance = framed ? (known - FIRST) >> 1 : 0;

	switch (in->stack) {
	case STACK_KEPT:
		break;
	case STACK_TO_FP:
		framed = true;
		known &= WEAK;
		distance = in->amount;
		break;
	case STACK_MOVED:
		distance -= in->amount;
		break;
	case STACK_FROM_FP:
		distance = -in->amount;
		break;
	case STACK_FP_BACK:
		return NO_FRAME | (known & WEAK);
	case STACK_UNKNOWN:
		search->failed |= framed;
		break;
	}
	if (!framed)
		return known;
	/* Below 0 it is sp that is above: no frame. */
	search->failed |= distance < 0 || distance > DISTANCE_MAX;
	return search->failed
		       ? NOTHING
		       : (int32_t)(FIRST + 2 * distance) | (known & WEAK);
}

/* Where the processor goes from an instruction; what comes to the next one. */
static int32_t
go_on(struct search *search, const struct instruction *in, int32_t known)
{
	switch (in->flow) {
	case FLOW_BRANCH:
		branch(search, in->target, known);
		return known;
	case FLOW_CALL:
		return known == NOTHING ? NOTHING : known | WEAK;
	case FLOW_JUMP:
		branch(search, in->target, known);
		return NOTHING;
	case FLOW_ANYWHERE:
		/* Without a frame it is the function's last call. */
		if (known >= FIRST)
			learn(search, &search->table_jump, known | WEAK);
		return NOTHING;
	case FLOW_STOP:
		return NOTHING;
	default:
		return known;
	}
}

static void
go_through(struct search *search, const struct part *part)
{
	uintptr_t at = part->first;
	int32_t coming = NOTHING;

	while (at < part->end && !search->failed) {
		int32_t *known = &part->known[at - part->first];
		struct instruction in;

		if (!instruction_read((const unsigned char *)at,
				      (const unsigned char *)part->end, &in)) {
			search->failed = true;
			return;
		}
		if (coming == NOTHING && *known == NOTHING &&
		    search->guess_cases)
			coming = search->table_jump;
		learn(search, known, coming);
		if (search->pc - at < in.length)
			search->at_pc = *known;
		coming = go_on(search, &in, after(search, *known, &in));
		at += in.length;
	}
}

/* Until nothing more is learnt. */
static void
settle(struct search *search)
{
	unsigned rounds = 0;

	do {
		search->changed = false;
		for (unsigned i = 0; i < search->part_count; i++)
			go_through(search, &search->parts[i]);
		search->failed |= ++rounds == ROUNDS_MAX;
	} while (search->changed && !search->failed);
}

int64_t
unwind_fp_distance(const struct unwind_fp_code *code, uintptr_t pc)
{
	struct search search = { .code = code, .pc = pc };

	if (!add_part(&search, pc) || !is_entry(code, search.parts[0].first))
		return -1;
	search.parts[0].known[0] = NO_FRAME;
	settle(&search);
	if (search.table_jump != NOTHING && !search.failed) {
		search.guess_cases = true;
		settle(&search);
	}
	if (search.failed || search.at_pc < FIRST)
		return -1;
	return (search.at_pc - FIRST) >> 1;
}
