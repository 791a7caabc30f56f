/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arch/x86_64_resume.h - the end of a signal handler without rt_sigreturn: all
 * registers of the interrupted code are set by instructions, with its stack
 * pointer last, and its system call instruction is jumped to.
 *
 *	signals blocked    vector registers, flags; the others and the mask
 *	                   copied to a block below the interrupted stack
 *	arch_resume_begin  rsp is the block's address: the signal mask, then all
 *	                   registers are loaded from it
 *	arch_resume_jump   all registers are the interrupted code's; rcx is
 *	                   where it goes on, as the system call will overwrite
 *	                   it
 *
 * From the second line on signals may come, and find the block above rsp. No
 * data. Included by resume.c only: it defines functions.
 */
#ifndef HEAPAGENT_ARCH_X86_64_RESUME_H
#define HEAPAGENT_ARCH_X86_64_RESUME_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ucontext.h>

#include "x86_64_context.h"

struct arch_resume_block {
	greg_t registers[NGREG]; /* as in the context, by REG_* */
	uint64_t mask;
};

/* The asm below has these as numbers. */
_Static_assert(NGREG == 23 && REG_R8 == 0 && REG_RDI == 8 && REG_RSP == 15 &&
		       REG_RIP == 16 && REG_EFL == 17,
	       "the order of the registers in a context");
_Static_assert(offsetof(struct arch_resume_block, mask) == 184,
	       "the block's layout");

extern const char arch_resume_begin[] __attribute__((visibility("hidden")));
extern const char arch_resume_jump[] __attribute__((visibility("hidden")));

/*
 * arch_resume(block, registers, vectors, components, mask): loads the given
 * components of the processor's state from vectors (an XSAVE area), copies the
 * registers and the mask to the block, and goes on as described above with
 * restart_syscall (219). All signals must be blocked. Does not return.
 */
void arch_resume(struct arch_resume_block *block, const greg_t *registers,
		 const void *vectors, uint64_t components, uint64_t mask)
	__attribute__((noreturn, visibility("hidden")));

__asm__(".pushsection .text\n\t"
	".globl arch_resume, arch_resume_begin, arch_resume_jump\n\t"
	".hidden arch_resume, arch_resume_begin, arch_resume_jump\n\t"
	".type arch_resume, @function\n"
	"arch_resume:\n\t"
	".cfi_startproc\n\t"
	".cfi_undefined rip\n\t"
	"mov %rdx, %r9\n\t"
	"mov %ecx, %eax\n\t"
	"mov %rcx, %rdx\n\t"
	"shr $32, %rdx\n\t"
	"xrstor64 (%r9)\n\t"
	"mov %rdi, %rsp\n\t"
	"mov $23, %ecx\n\t"
	"rep movsq\n\t"
	"mov %r8, 184(%rsp)\n\t"
	/*
	 * The flags. Not by popf: a debugger that steps over it would leave its
	 * trap flag set. sahf sets all but the overflow flag, the addition
	 * that.
	 */
	"mov 17*8(%rsp), %ecx\n\t"
	"mov %cl, %ah\n\t"
	"shr $11, %ecx\n\t"
	"and $1, %ecx\n\t"
	"neg %cl\n\t"
	"shr $1, %cl\n\t"
	"add $1, %cl\n\t" /* overflows if it is 127 */
	"sahf\n"
	/* From here on nothing may change the flags. */
	"arch_resume_begin:\n\t"
	"mov $14, %eax\n\t" /* rt_sigprocmask */
	"mov $2, %edi\n\t"  /* SIG_SETMASK */
	"lea 184(%rsp), %rsi\n\t"
	"mov $0, %edx\n\t"
	"mov $8, %r10d\n\t"
	"syscall\n\t"
	"mov 0*8(%rsp), %r8\n\t"
	"mov 1*8(%rsp), %r9\n\t"
	"mov 2*8(%rsp), %r10\n\t"
	"mov 3*8(%rsp), %r11\n\t"
	"mov 4*8(%rsp), %r12\n\t"
	"mov 5*8(%rsp), %r13\n\t"
	"mov 6*8(%rsp), %r14\n\t"
	"mov 7*8(%rsp), %r15\n\t"
	"mov 8*8(%rsp), %rdi\n\t"
	"mov 9*8(%rsp), %rsi\n\t"
	"mov 10*8(%rsp), %rbp\n\t"
	"mov 11*8(%rsp), %rbx\n\t"
	"mov 12*8(%rsp), %rdx\n\t"
	"mov 16*8(%rsp), %rcx\n\t"
	"lea -2(%rcx), %rcx\n\t" /* the system call instruction */
	"mov $219, %eax\n\t"	 /* restart_syscall */
	"mov 15*8(%rsp), %rsp\n"
	"arch_resume_jump:\n\t"
	"jmp *%rcx\n\t"
	".cfi_endproc\n\t"
	".size arch_resume, . - arch_resume\n\t"
	".popsection");

/* The part of the signal frame's XSAVE area that the kernel tells software of,
 * struct _fpx_sw_bytes and struct xstate_header of its asm/sigcontext.h. */
#define ARCH_XSAVE_SOFTWARE_AT 464
#define ARCH_XSAVE_HEADER_AT 512
#define ARCH_XSAVE_MAGIC 0x46505853U
#define ARCH_XSAVE_PKRU (UINT64_C(1) << 9)

/*
 * The components of the state in the context's XSAVE area; 0 if there is none.
 */
static inline uint64_t
arch_xsave_components(const ucontext_t *context)
{
	const char *area = (const char *)context->uc_mcontext.fpregs;
	uint64_t components;
	uint32_t magic;

	if (area == NULL)
		return 0;
	memcpy(&magic, area + ARCH_XSAVE_SOFTWARE_AT, sizeof(magic));
	memcpy(&components, area + ARCH_XSAVE_SOFTWARE_AT + 8,
	       sizeof(components));
	return magic == ARCH_XSAVE_MAGIC ? components : 0;
}

/* True if the interrupted code's protection keys are not the handler's, which
 * could not read its own stack any more with them. */
static inline bool
arch_xsave_changes_keys(const ucontext_t *context, uint64_t components)
{
	const char *area = (const char *)context->uc_mcontext.fpregs;
	uint32_t eax = 0xd, ebx, ecx = 9, edx; /* cpuid: where PKRU lies */
	uint32_t saved = 0, now;
	uint64_t present;

	if ((components & ARCH_XSAVE_PKRU) == 0)
		return false;
	__asm__("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
	memcpy(&present, area + ARCH_XSAVE_HEADER_AT, sizeof(present));
	if ((present & ARCH_XSAVE_PKRU) != 0)
		memcpy(&saved, area + ebx, sizeof(saved));
	ecx = 0;
	__asm__ volatile("rdpkru" : "=a"(now), "=d"(edx) : "c"(ecx));
	return saved != now;
}

/* A shadow stack holds an entry that only rt_sigreturn takes off. */
static inline bool
arch_has_shadow_stack(void)
{
	uint64_t pointer = 0; /* rdsspq does nothing if there is none */

	__asm__ volatile("rdsspq %0" : "+r"(pointer));
	return pointer != 0;
}

/* A debug trap after each instruction, ours too; string instructions that go
 * backwards. All other flags are set back, or are as they were. */
#define ARCH_FLAGS_STRANGE 0x500

#endif
