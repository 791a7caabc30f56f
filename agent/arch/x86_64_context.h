/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arch/x86_64_context.h - the registers of an interrupted thread, as a signal
 * frame and as ptrace give them, in the shapes that the walk of the stack and
 * the restart of system calls work on. No data.
 */
#ifndef HEAPAGENT_ARCH_X86_64_CONTEXT_H
#define HEAPAGENT_ARCH_X86_64_CONTEXT_H

#include <signal.h>
#include <stdbool.h>
#include <sys/user.h>
#include <ucontext.h>

#include "unwind.h"

/* A system call in a saved context: where it is, and its arguments. */
struct arch_call {
	uintptr_t ip; /* after the system call instruction */
	uintptr_t sp;
	long result;
	uint64_t arguments[6];
};

#define ARCH_SYSCALL_BYTES 2

static inline struct unwind_registers
arch_context_registers(const ucontext_t *context)
{
	const greg_t *regs = context->uc_mcontext.gregs;

	return (struct unwind_registers){
		.ip = (uintptr_t)regs[REG_RIP],
		.sp = (uintptr_t)regs[REG_RSP],
		.fp = (uintptr_t)regs[REG_RBP],
		.exact = true,
		.fp_known = true,
		.bx_known = true,
		.bx = (uintptr_t)regs[REG_RBX],
	};
}

static inline struct unwind_registers
arch_ptrace_registers(const struct user_regs_struct *regs)
{
	return (struct unwind_registers){
		.ip = regs->rip,
		.sp = regs->rsp,
		.fp = regs->rbp,
		.exact = true,
		.fp_known = true,
		.bx_known = true,
		.bx = regs->rbx,
	};
}

static inline uintptr_t
arch_ptrace_thread_pointer(const struct user_regs_struct *regs)
{
	return regs->fs_base;
}

/*
 * A signal handler runs with the interrupted code's alignment check, which is
 * not made for compiled code: takes it off. rt_sigreturn sets it back.
 */
#define ARCH_FLAG_ALIGNMENT 0x40000
static inline void
arch_context_allow_unaligned(const ucontext_t *context)
{
	if ((context->uc_mcontext.gregs[REG_EFL] & ARCH_FLAG_ALIGNMENT) != 0)
		__asm__ volatile("lea -128(%%rsp), %%rsp\n\t" /* red zone */
				 "pushfq\n\t"
				 "andq %0, (%%rsp)\n\t"
				 "popfq\n\t"
				 "lea 128(%%rsp), %%rsp"
				 :
				 : "i"(~ARCH_FLAG_ALIGNMENT)
				 : "memory", "cc");
}

/* The kernel keeps all arguments in their registers across a call. */
static inline struct arch_call
arch_context_call(const ucontext_t *context)
{
	const greg_t *regs = context->uc_mcontext.gregs;

	return (struct arch_call){
		.ip = (uintptr_t)regs[REG_RIP],
		.sp = (uintptr_t)regs[REG_RSP],
		.result = (long)regs[REG_RAX],
		.arguments = { (uint64_t)regs[REG_RDI], (uint64_t)regs[REG_RSI],
			       (uint64_t)regs[REG_RDX], (uint64_t)regs[REG_R10],
			       (uint64_t)regs[REG_R8], (uint64_t)regs[REG_R9] },
	};
}

/* Lets the thread go on by making system call nr, with its arguments. */
static inline void
arch_context_rerun(ucontext_t *context, long nr)
{
	context->uc_mcontext.gregs[REG_RIP] -= ARCH_SYSCALL_BYTES;
	context->uc_mcontext.gregs[REG_RAX] = nr;
}

/* The same of a stopped thread. */
static inline struct arch_call
arch_ptrace_call(const struct user_regs_struct *regs)
{
	return (struct arch_call){
		.ip = regs->rip,
		.sp = regs->rsp,
		.result = (long)regs->rax,
		.arguments = { regs->rdi, regs->rsi, regs->rdx, regs->r10,
			       regs->r8, regs->r9 },
	};
}

static inline void
arch_ptrace_rerun(struct user_regs_struct *regs, long nr)
{
	regs->rip -= ARCH_SYSCALL_BYTES;
	regs->rax = (unsigned long)nr;
}

#endif
