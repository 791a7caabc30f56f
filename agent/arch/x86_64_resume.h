/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arch/x86_64_resume.h - the end of a signal handler without rt_sigreturn: all
 * registers of the interrupted code are set by instructions, and its system
 * call instruction is jumped to.
 *
 *	signals blocked    vector registers, flags, then all other registers
 *	                   but five are loaded from the signal frame, the stack
 *	                   pointer with them; the signal mask is set back
 *	arch_resume_begin  the five that setting the mask needed are loaded from
 *	                   words outside any stack
 *	arch_resume_jump   all registers are the interrupted code's; r11 is
 *	                   where it goes on, as the system call will overwrite
 *	                   it
 *
 * From the second line on signals may come. The stack is the interrupted one
 * by then, as after rt_sigreturn: nothing of ours lies on it, or below it.
 * Included by resume.c only: it defines functions.
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

/* The five registers, of one thread at a time. */
struct arch_resume_words {
	uint64_t di, si, dx, r10;
	uint64_t ip;	/* of the system call instruction */
	uint64_t owner; /* atomic: that thread's pointer; 0: free */
};

/* The asm below has these as numbers. */
_Static_assert(NGREG == 23 && REG_R8 == 0 && REG_RDI == 8 && REG_RSP == 15 &&
		       REG_RIP == 16 && REG_EFL == 17,
	       "the order of the registers in a context");
_Static_assert(offsetof(struct arch_resume_words, ip) == 32 &&
		       offsetof(struct arch_resume_words, owner) == 40,
	       "the layout of the words");

/* The thread's words; those it had last, if it has none. */
extern __thread struct arch_resume_words *arch_resume_words
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

extern const char arch_resume_begin[] __attribute__((visibility("hidden")));
extern const char arch_resume_jump[] __attribute__((visibility("hidden")));

/*
 * arch_resume(registers, vectors, components, mask): loads the given components
 * of the processor's state from vectors (an XSAVE area), the registers (as in a
 * context, by REG_*) and the signal mask, and goes on as described above with
 * restart_syscall (219). arch_resume_words has been filled, and all signals are
 * blocked. Writes no memory but owner. Does not return.
 */
void arch_resume(const greg_t *registers, const void *vectors,
		 uint64_t components, const void *mask)
	__attribute__((noreturn, visibility("hidden")));

__asm__(".pushsection .text\n\t"
	".globl arch_resume, arch_resume_begin, arch_resume_jump\n\t"
	".hidden arch_resume, arch_resume_begin, arch_resume_jump\n\t"
	".type arch_resume, @function\n"
	"arch_resume:\n\t"
	".cfi_startproc\n\t"
	".cfi_undefined rip\n\t"
	"mov %rdi, %r9\n\t"
	"mov %rcx, %r8\n\t"
	"mov %edx, %eax\n\t"
	"shr $32, %rdx\n\t"
	"xrstor64 (%rsi)\n\t"
	/*
	 * The flags. Not by popf: a debugger that steps over it would leave its
	 * trap flag set. sahf sets all but the overflow flag, the addition
	 * that.
	 */
	"mov 17*8(%r9), %ecx\n\t"
	"mov %cl, %ah\n\t"
	"shr $11, %ecx\n\t"
	"and $1, %ecx\n\t"
	"neg %cl\n\t"
	"shr $1, %cl\n\t"
	"add $1, %cl\n\t" /* overflows if it is 127 */
	"sahf\n\t"
	/* From here on nothing may change the flags. */
	"mov $14, %eax\n\t" /* rt_sigprocmask */
	"mov $2, %edi\n\t"  /* SIG_SETMASK */
	"mov %r8, %rsi\n\t"
	"mov $0, %edx\n\t"
	"mov $8, %r10d\n\t"
	"mov 0*8(%r9), %r8\n\t"
	"mov 4*8(%r9), %r12\n\t"
	"mov 5*8(%r9), %r13\n\t"
	"mov 6*8(%r9), %r14\n\t"
	"mov 7*8(%r9), %r15\n\t"
	"mov 10*8(%r9), %rbp\n\t"
	"mov 11*8(%r9), %rbx\n\t"
	"mov 15*8(%r9), %rsp\n\t"
	"mov 1*8(%r9), %r9\n\t"
	"syscall\n"
	"arch_resume_begin:\n\t"
	"mov arch_resume_words@gottpoff(%rip), %rcx\n\t"
	"mov %fs:(%rcx), %rcx\n\t"
	"mov (%rcx), %rdi\n\t"
	"mov 8(%rcx), %rsi\n\t"
	"mov 16(%rcx), %rdx\n\t"
	"mov 24(%rcx), %r10\n\t"
	"mov 32(%rcx), %r11\n\t"
	"mov $219, %eax\n\t" /* restart_syscall */
	"movq $0, 40(%rcx)\n"
	"arch_resume_jump:\n\t"
	"jmp *%r11\n\t"
	".cfi_endproc\n\t"
	".size arch_resume, . - arch_resume\n\t"
	".popsection");

/*
 * arch_resume_trial(in, out, components, pid, signal): loads those components
 * from in, sends the signal, whose handler is to end by arch_resume(), and
 * saves them to out: what the system call that was gone on with returned.
 */
long arch_resume_trial(const void *in, void *out, uint64_t components, int pid,
		       int signal) __attribute__((visibility("hidden")));

__asm__(".pushsection .text\n\t"
	".hidden arch_resume_trial\n\t"
	".globl arch_resume_trial\n\t"
	".type arch_resume_trial, @function\n"
	"arch_resume_trial:\n\t"
	".cfi_startproc\n\t"
	"mov %rsi, %r9\n\t"
	"mov %rdx, %r10\n\t"
	"mov %r8d, %esi\n\t"
	"mov %edx, %r8d\n\t"
	"mov %r8d, %eax\n\t"
	"shr $32, %rdx\n\t"
	"xrstor64 (%rdi)\n\t"
	"mov %ecx, %edi\n\t"
	"mov $62, %eax\n\t" /* kill */
	"syscall\n\t"
	"mov %rax, %r10\n\t"
	"mov %r8d, %eax\n\t"
	"xsave64 (%r9)\n\t"
	"mov %r10, %rax\n\t"
	"ret\n\t"
	".cfi_endproc\n\t"
	".size arch_resume_trial, . - arch_resume_trial\n\t"
	".popsection");

/* The parts of an XSAVE area (Intel SDM 1, 13.4): MXCSR, the xmm registers, and
 * what the kernel tells software of, struct _fpx_sw_bytes and struct
 * xstate_header of its asm/sigcontext.h. */
#define ARCH_XSAVE_MXCSR_AT 24
#define ARCH_XSAVE_XMM_AT 160
#define ARCH_XSAVE_XMM_BYTES 256
#define ARCH_XSAVE_SOFTWARE_AT 464
#define ARCH_XSAVE_HEADER_AT 512
#define ARCH_XSAVE_HEADER_BYTES 64
#define ARCH_XSAVE_MAGIC 0x46505853U
#define ARCH_XSAVE_ALIGNMENT 64

#define ARCH_XSAVE_SSE (UINT64_C(1) << 1)
#define ARCH_XSAVE_PKRU (UINT64_C(1) << 9)
/* SSE, AVX, the three of AVX-512, APX's general registers: what can be filled
 * with anything. */
#define ARCH_XSAVE_PLAIN UINT64_C(0x800e6)

/* Where a component lies in an area, as the kernel writes it: not compacted.
 * Its size in bytes. */
static inline uint32_t
arch_xsave_component(unsigned component, uint32_t *at)
{
	uint32_t eax = 0xd, ecx = component, edx; /* cpuid */

	__asm__("cpuid" : "+a"(eax), "=b"(*at), "+c"(ecx), "=d"(edx));
	return eax;
}

/* The components that the system has switched on; 0 without XSAVE. */
static inline uint64_t
arch_xsave_enabled(void)
{
	const uint32_t osxsave = UINT32_C(1) << 27;
	uint32_t eax = 1, ebx, ecx, edx;

	__asm__("cpuid" : "+a"(eax), "=b"(ebx), "=c"(ecx), "=d"(edx));
	if ((ecx & osxsave) == 0)
		return 0;
	__asm__("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
	return (uint64_t)edx << 32 | eax;
}

/*
 * The components of the state in the context's XSAVE area; 0 if there is none,
 * or not as processors load it.
 */
static inline uint64_t
arch_xsave_components(const ucontext_t *context)
{
	const char *area = (const char *)context->uc_mcontext.fpregs;
	uint64_t components;
	uint32_t magic;

	if (area == NULL || (uintptr_t)area % ARCH_XSAVE_ALIGNMENT != 0)
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
	uint32_t at, saved = 0, now, edx;
	uint64_t present;

	if ((components & ARCH_XSAVE_PKRU) == 0)
		return false;
	(void)arch_xsave_component(9, &at);
	memcpy(&present, area + ARCH_XSAVE_HEADER_AT, sizeof(present));
	if ((present & ARCH_XSAVE_PKRU) != 0)
		memcpy(&saved, area + at, sizeof(saved));
	__asm__ volatile("rdpkru" : "=a"(now), "=d"(edx) : "c"(0));
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
 * backwards; an alignment check, which our handlers take off. All other flags
 * are set back, or are as they were. */
#define ARCH_FLAGS_STRANGE (0x500 | ARCH_FLAG_ALIGNMENT)

#endif
