/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arch/x86_64_sandbox.h - libc's prctl() and syscall() with a look at what they
 * are asked for; see sandbox.h. One file includes it.
 *
 * Jumps, and nothing of the caller's is touched: what is asked for may be a
 * clone() or vfork(), whose child returns, too.
 */
#ifndef HEAPAGENT_ARCH_X86_64_SANDBOX_H
#define HEAPAGENT_ARCH_X86_64_SANDBOX_H

#include <sys/prctl.h>
#include <unistd.h>

#include "compiler.h"

/* Named in the code below, and so is sys_confined. See sandbox.c. */
extern HIDDEN unsigned char sandbox_ptracer;
extern HIDDEN long (*sandbox_prctl)(long, ...);
extern HIDDEN long (*sandbox_syscall)(long, ...);

/*
 * prctl(PR_SET_SECCOMP (22), mode, program): strict (1) has no program. One
 * without is a question whether the kernel knows filters.
 * prctl(PR_SET_PTRACER (0x59616d61), ...).
 */
EXPORT __attribute__((naked)) int
prctl(UNUSED int option, ...)
{
	__asm__("cmp $22, %edi\n\t"
		"je 1f\n\t"
		"cmp $0x59616d61, %edi\n\t"
		"jne 3f\n\t"
		"movb $1, sandbox_ptracer(%rip)\n\t"
		"jmp 3f\n"
		"1:\n\t"
		"cmp $1, %rsi\n\t"
		"je 2f\n\t"
		"test %rdx, %rdx\n\t"
		"jz 3f\n"
		"2:\n\t"
		"movb $1, sys_confined(%rip)\n"
		"3:\n\t"
		"jmp *sandbox_prctl(%rip)");
}

/*
 * syscall(SYS_seccomp (317), operation, flags, program): operation 0 is strict,
 * 1 a filter, others are questions. syscall(SYS_prctl (157), ...) as above.
 */
EXPORT __attribute__((naked)) long
syscall(UNUSED long nr, ...)
{
	__asm__("cmp $317, %rdi\n\t"
		"je 1f\n\t"
		"cmp $157, %rdi\n\t"
		"jne 3f\n\t"
		"cmp $22, %esi\n\t"
		"jne 4f\n\t"
		"cmp $1, %rdx\n\t"
		"je 2f\n\t"
		"test %rcx, %rcx\n\t"
		"jnz 2f\n\t"
		"jmp 3f\n"
		"4:\n\t"
		"cmp $0x59616d61, %esi\n\t"
		"jne 3f\n\t"
		"movb $1, sandbox_ptracer(%rip)\n\t"
		"jmp 3f\n"
		"1:\n\t"
		"cmp $1, %esi\n\t"
		"ja 3f\n\t"
		"jb 2f\n\t"
		"test %rcx, %rcx\n\t"
		"jz 3f\n"
		"2:\n\t"
		"movb $1, sys_confined(%rip)\n"
		"3:\n\t"
		"jmp *sandbox_syscall(%rip)");
}

#endif
