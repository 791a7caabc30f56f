/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.h - from registers to a list of frames, without a lock.
 *
 * Rows (how to find the caller of the function at a pc) come from the
 * module's .eh_frame (DWARF 5 §6.4, LSB 5.0 .eh_frame) and are kept in one
 * lock-free direct-mapped cache. Every read of the stack stays within a span;
 * every read of CFI stays within the module's segment; the number of steps is
 * bounded by the number of frames asked for. No system call but the span's,
 * and the few of a module's first sight.
 */
#ifndef HEAPAGENT_UNWIND_H
#define HEAPAGENT_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "span.h"

/* The most frames a stack can have: HEAPAGENT_DEPTH's upper limit. */
#define UNWIND_FRAMES_MAX 512

/*
 * Where a walk starts. `exact` says that ip is the next instruction of an
 * interrupted function; otherwise ip is a return address.
 */
struct unwind_registers {
	uintptr_t ip;
	uintptr_t sp;
	uintptr_t fp;
	bool exact;
	/*
	 * False if fp is not known (a thread read through its syscall file):
	 * the code it is in may tell, see unwind_fp.h.
	 */
	bool fp_known;
	/*
	 * rbx, where it is at hand: code in the loader bases its CFA on it. It
	 * need not be captured for a walk that starts in a function of ours:
	 * every path from such code has saved it on the stack by then.
	 */
	bool bx_known;
	uintptr_t bx;
};

enum unwind_method {
	UNWIND_CFI, /* .eh_frame rows, frame pointers where there is none */
	UNWIND_FP,  /* frame pointers only */
};

enum unwind_end {
	UNWIND_COMPLETE,  /* reached the outermost frame */
	UNWIND_DEPTH,	  /* stopped at max frames */
	UNWIND_TRUNCATED, /* no way on: the last frame is FRAME_TRUNCATED */
	UNWIND_UNCERTAIN, /* for want of fp: the last is FRAME_UNCERTAIN */
};

/*
 * Memory that a walk works in, too large for small stacks; the caller keeps
 * one for each walk that can run at a time. Contents are unwind.c's business.
 */
struct unwind_scratch {
	uint64_t words[256];
};

struct unwind_request {
	struct unwind_registers registers;
	enum unwind_method method;
	uintptr_t thread_pointer; /* of the thread walked; 0: unknown */
	/*
	 * An address below sp, if all from there to sp is known to be readable,
	 * as that of a frame on the caller's own stack is; 0: it is not known.
	 */
	uintptr_t touched;
	struct span *own; /* that thread's remembered span */
	struct unwind_scratch *scratch;
	/* UNWIND_FP_MEMORY_BYTES to find an unknown fp in; NULL: it stays so */
	void *recovery;
	uint64_t *frames; /* receives max frames at most, innermost first */
	unsigned max;	  /* 1 to UNWIND_FRAMES_MAX */
};

/* Makes the row cache in the region. 0 or -ENOMEM. [init] */
int unwind_init(void);

/*
 * Fills request->frames (see frame.h), sets *count (1 to max) and says how the
 * walk ended. Uses at most 512 bytes of the calling stack, twice as much if fp
 * is to be recovered. [any]
 */
enum unwind_end unwind_stack(const struct unwind_request *request,
			     unsigned *count);

#endif
