/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_step.h - one walk, and its step from a frame to its caller; for
 * unwind.c alone. [any], all of it.
 */
#ifndef HEAPAGENT_UNWIND_STEP_H
#define HEAPAGENT_UNWIND_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi.h"
#include "span.h"
#include "unwind.h"

/* One walk. Lies in the caller's scratch memory. */
struct walk {
	const struct unwind_request *request;
	struct span span; /* what may be read without another question */
	bool on_own;	  /* the span is all of the thread's own stack */
	uintptr_t ip;
	uintptr_t sp;
	uintptr_t fp;	  /* 0 where it is not known */
	uint64_t exact;	  /* 1 if ip is that of an interrupted instruction */
	uint64_t salt;	  /* of the cache keys */
	bool cacheable;	  /* no dlclose ran when the walk began */
	bool follow_bx;	  /* bx is followed... */
	bool bx_known;	  /* ...and was found */
	uint8_t switches; /* to stacks that lie below the one before */
	uintptr_t bx;
	uint64_t *frame; /* the next to write */
	uint64_t *frames_end;
	uint64_t row; /* of the last frame written */
	uint64_t cfi_memory[CFI_MEMORY_BYTES / 8];
};

/*
 * A row may lead to another stack, below this one (OCaml 5 calls C like that).
 * The depth bounds such a walk, too; this keeps circles short.
 */
#define SWITCHES_MAX 16

_Static_assert(sizeof(struct walk) <= sizeof(struct unwind_scratch),
	       "a walk fits the scratch memory");

enum step {
	STEP_ON,
	STEP_COMPLETE,
	STEP_TRUNCATED,
	STEP_UNCERTAIN, /* a register that is not known leads on */
	STEP_NEEDS_BX,	/* start again and follow it */
};

static inline uintptr_t
unwind_load(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

/* Goes on with the stack that holds address. False if it cannot be read. */
bool unwind_enter(struct walk *walk, uintptr_t address);

/*
 * True if what lies at sp can be the context that a signal's handler returns
 * to. A guess, which asks for what is on another page.
 */
bool unwind_may_be_above_signal(struct walk *walk);

/* From the last frame to its caller by walk->row, whatever kind it is. */
enum step unwind_step(struct walk *walk);

#endif
