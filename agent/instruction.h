/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instruction.h - one x86-64 instruction: how long it is, where the processor
 * goes from it, and what it does to the stack pointer.
 *
 * Enough of the instruction set to go through what compilers write, AVX-512
 * included (Intel SDM 2, appendix A; lengths do not depend on what the
 * processor supports). No data; reads no byte outside [code, end).
 */
#ifndef HEAPAGENT_INSTRUCTION_H
#define HEAPAGENT_INSTRUCTION_H

#include <stdbool.h>
#include <stdint.h>

enum instruction_flow {
	FLOW_ON,       /* to the next one */
	FLOW_CALL,     /* to the next one, if the function called returns */
	FLOW_BRANCH,   /* to the next one or to the target */
	FLOW_JUMP,     /* to the target */
	FLOW_ANYWHERE, /* to an address from a register or from memory */
	FLOW_STOP,     /* nowhere: a return, ud2 */
};

enum instruction_stack {
	STACK_KEPT,    /* sp and fp stay as they are */
	STACK_MOVED,   /* sp += amount */
	STACK_FROM_FP, /* sp = fp + amount */
	STACK_TO_FP,   /* fp = sp + amount */
	STACK_FP_BACK, /* fp is the caller's again: pop %rbp, leave */
	STACK_UNKNOWN, /* sp becomes something else */
};

struct instruction {
	unsigned length;
	enum instruction_flow flow;
	enum instruction_stack stack;
	int64_t amount;
	uintptr_t target; /* of a branch, a jump or a direct call; else 0 */
};

/* Reads the one at code. False if it is not known or not all there. [any] */
bool instruction_read(const unsigned char *code, const unsigned char *end,
		      struct instruction *instruction);

/* True if what ends at end, and is readable from start on, is a call. [any] */
bool instruction_call_before(const unsigned char *start,
			     const unsigned char *end);

#endif
