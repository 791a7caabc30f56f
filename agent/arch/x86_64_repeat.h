/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arch/x86_64_repeat.h - a system call that is made in code of ours, which
 * puts its result right and goes on where the host's own call ends.
 *
 *	arch_repeat        rsp is the block's address, all other registers are
 *	                   those of the call
 *	arch_repeat_ended  the call has ended; its result is put right, and the
 *	                   arguments are the host's again
 *	arch_repeat_jump   all registers are those of a call that ends; rcx is
 *	                   where it goes on, as a system call overwrites it
 *
 * No instruction changes a flag, as a system call does not. The call may take
 * long, and handlers of the host may run below the block, walk the stack with
 * the unwind information here, or leave by longjmp. No data. Included by
 * repeat.c only: it defines functions.
 */
#ifndef HEAPAGENT_ARCH_X86_64_REPEAT_H
#define HEAPAGENT_ARCH_X86_64_REPEAT_H

#include <stddef.h>
#include <stdint.h>

/* What lies at rsp. */
struct arch_repeat_block {
	uint64_t ip; /* after the host's system call instruction */
	uint64_t sp;
	uint64_t nr;
	uint64_t done;	       /* bytes, before this call; 0: it is connect() */
	uint64_t arguments[5]; /* the host's; the last is never changed */
};

/* The asm below has these as numbers. */
_Static_assert(offsetof(struct arch_repeat_block, sp) == 8 &&
		       offsetof(struct arch_repeat_block, nr) == 16 &&
		       offsetof(struct arch_repeat_block, done) == 24 &&
		       offsetof(struct arch_repeat_block, arguments) == 32,
	       "the block's layout");

extern const char arch_repeat[] __attribute__((visibility("hidden")));
extern const char arch_repeat_ended[] __attribute__((visibility("hidden")));
extern const char arch_repeat_jump[] __attribute__((visibility("hidden")));

/*
 * The unwind information: the caller's rsp is the word at rsp + 8, and its ip
 * that at rsp (DWARF 5 §6.4.2: DW_CFA_def_cfa_expression, DW_CFA_expression of
 * the return address, column 16; §2.5.1: DW_OP_breg7, DW_OP_deref). At the
 * last instruction rsp is the caller's and rcx (column 2) the ip.
 *
 * -EALREADY is 114 and -EINPROGRESS 115.
 */
__asm__(".pushsection .text\n\t"
	".globl arch_repeat, arch_repeat_ended, arch_repeat_jump\n\t"
	".hidden arch_repeat, arch_repeat_ended, arch_repeat_jump\n\t"
	".type arch_repeat, @function\n"
	".cfi_startproc\n\t"
	".cfi_escape 0x0f, 3, 0x77, 8, 0x06\n\t"
	".cfi_escape 0x10, 16, 2, 0x77, 0\n\t"
	"nop\n" /* return addresses are looked up one byte before */
	"arch_repeat:\n\t"
	"mov 16(%rsp), %rax\n\t"
	"syscall\n"
	"arch_repeat_ended:\n\t"
	"mov 24(%rsp), %rcx\n\t"
	"jrcxz 2f\n\t"
	/* A part of it: what was done before counts, and an error does not. */
	"cqo\n\t"
	"mov %rdx, %rcx\n\t"
	"jrcxz 1f\n\t"
	"mov $0, %eax\n"
	"1:\n\t"
	"mov 24(%rsp), %rcx\n\t"
	"lea (%rax,%rcx), %rax\n\t"
	"mov 32(%rsp), %rdi\n\t"
	"mov 40(%rsp), %rsi\n\t"
	"mov 48(%rsp), %rdx\n\t"
	"mov 56(%rsp), %r10\n\t"
	"mov 64(%rsp), %r8\n\t"
	"jmp 4f\n"
	/* connect(): the first one would have said that it goes on. */
	"2:\n\t"
	"lea 114(%rax), %rcx\n\t"
	"jrcxz 3f\n\t"
	"jmp 4f\n"
	"3:\n\t"
	"mov $-115, %rax\n"
	"4:\n\t"
	"mov (%rsp), %rcx\n\t"
	"mov 8(%rsp), %rsp\n\t"
	".cfi_def_cfa rsp, 0\n\t"
	".cfi_register rip, rcx\n"
	"arch_repeat_jump:\n\t"
	"jmp *%rcx\n\t"
	".cfi_endproc\n\t"
	".size arch_repeat, . - arch_repeat\n\t"
	".popsection");

#endif
