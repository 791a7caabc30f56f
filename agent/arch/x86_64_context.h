/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arch/x86_64_context.h - the registers of an interrupted thread, as a signal
 * frame and as ptrace give them, in the shapes that the walk of the stack and
 * the restart of system calls work on. No data.
 */
#ifndef HEAPAGENT_ARCH_X86_64_CONTEXT_H
#define HEAPAGENT_ARCH_X86_64_CONTEXT_H

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

/* Sets argument number index (0 to 5) of the call that will run again. */
static inline void
arch_context_set_argument(ucontext_t *context, unsigned index, uint64_t value)
{
	static const int registers[] = { REG_RDI, REG_RSI, REG_RDX,
					 REG_R10, REG_R8,  REG_R9 };

	context->uc_mcontext.gregs[registers[index]] = (greg_t)value;
}

/* Lets the context go on by making system call nr, with its arguments. */
static inline void
arch_context_rerun(ucontext_t *context, long nr)
{
	context->uc_mcontext.gregs[REG_RIP] -= ARCH_SYSCALL_BYTES;
	context->uc_mcontext.gregs[REG_RAX] = nr;
}

/* The same for a stopped thread, whose call's number the kernel knows. */
static inline void
arch_ptrace_rerun(struct user_regs_struct *regs)
{
	regs->rip -= ARCH_SYSCALL_BYTES;
	regs->rax = regs->orig_rax;
}

#endif
