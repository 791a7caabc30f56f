/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame.h - one frame of a stack in 64 bits: a module and an offset in it.
 *
 *	63      48 47                                  0
 *	| module  |  ELF virtual address in the module |
 *
 * Not an address of the process, so that a library that was closed and
 * another loaded in its place each keep their own frames. The address is
 * already that of the call (return address minus one), except in a frame that
 * was interrupted, where it is the exact one.
 */
#ifndef HEAPAGENT_FRAME_H
#define HEAPAGENT_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_OFFSET_BITS 48
#define FRAME_OFFSET_MASK ((UINT64_C(1) << FRAME_OFFSET_BITS) - 1)

/* Module 0 stands for code of no module: the offset is the plain address. */
#define FRAME_MODULE_NONE 0

/*
 * Ends a stack that could not be followed to its outermost frame. Written in
 * place of the caller that was not found.
 */
#define FRAME_TRUNCATED UINT64_C(1)

/*
 * The same where the stack of a thread was read without stopping it, and what
 * leads on is in a register that only the stopped thread would tell.
 */
#define FRAME_UNCERTAIN UINT64_C(2)
#define FRAME_PSEUDO_LAST FRAME_UNCERTAIN

/* What a profile calls a frame that is no place in code; NULL: it is one. */
static inline const char *
frame_pseudo_name(uint64_t frame)
{
	return frame == FRAME_TRUNCATED	  ? "[truncated]"
	       : frame == FRAME_UNCERTAIN ? "[uncertain]"
					  : NULL;
}

static inline uint64_t
frame_make(unsigned module, uint64_t offset)
{
	return (uint64_t)module << FRAME_OFFSET_BITS |
	       (offset & FRAME_OFFSET_MASK);
}

static inline unsigned
frame_module(uint64_t frame)
{
	return (unsigned)(frame >> FRAME_OFFSET_BITS);
}

static inline uint64_t
frame_offset(uint64_t frame)
{
	return frame & FRAME_OFFSET_MASK;
}

#endif
