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
/* Below the stack pointer the ABI lets a function use so much. */
#define ARCH_RED_ZONE_BYTES 128

/*
 * True if these two are where the kernel put them for a handler (struct
 * rt_sigframe of its asm/sigframe.h), and not copies that somebody made: its
 * ucontext is smaller than libc's.
 */
static inline bool
arch_is_signal_frame(const ucontext_t *context, const siginfo_t *info)
{
	const uintptr_t kernels_ucontext_bytes = 304;

	return (uintptr_t)info - (uintptr_t)context == kernels_ucontext_bytes;
}

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

static inline void
arch_context_set_call(ucontext_t *context, const struct arch_call *call)
{
	greg_t *regs = context->uc_mcontext.gregs;

	regs[REG_RIP] = (greg_t)call->ip;
	regs[REG_RSP] = (greg_t)call->sp;
	regs[REG_RAX] = call->result;
	regs[REG_RDI] = (greg_t)call->arguments[0];
	regs[REG_RSI] = (greg_t)call->arguments[1];
	regs[REG_RDX] = (greg_t)call->arguments[2];
	regs[REG_R10] = (greg_t)call->arguments[3];
	regs[REG_R8] = (greg_t)call->arguments[4];
	regs[REG_R9] = (greg_t)call->arguments[5];
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
arch_ptrace_set_call(struct user_regs_struct *regs,
		     const struct arch_call *call)
{
	regs->rip = call->ip;
	regs->rsp = call->sp;
	regs->rax = (unsigned long)call->result;
	regs->rdi = call->arguments[0];
	regs->rsi = call->arguments[1];
	regs->rdx = call->arguments[2];
	regs->r10 = call->arguments[3];
	regs->r8 = call->arguments[4];
	regs->r9 = call->arguments[5];
}

/* Free memory of so many bytes below a stack pointer. */
static inline uintptr_t
arch_below_red_zone(uintptr_t sp, size_t size_bytes)
{
	return (sp - ARCH_RED_ZONE_BYTES - size_bytes) & ~(uintptr_t)15;
}

/* Lets the thread go on by making system call nr, with its arguments. */
static inline void
arch_call_rerun(struct arch_call *call, long nr)
{
	call->ip -= ARCH_SYSCALL_BYTES;
	call->result = nr;
}

#endif
