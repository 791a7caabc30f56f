/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume.c - when that can be done, and the states a signal can find it in; see
 * resume.h and arch/x86_64_resume.h.
 */
#include "resume.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "arch/x86_64_resume.h"
#include "atomics.h"
#include "sys.h"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

/* Atomic: 0, or 1 + the seccomp mode under which restart_syscall worked. */
static uint32_t granted;

static bool
between(uintptr_t ip, const char *begin, const char *end)
{
	return ip >= (uintptr_t)begin && ip < (uintptr_t)end;
}

static bool
is_syscall_instruction(uintptr_t ip)
{
	unsigned char code[ARCH_SYSCALL_BYTES];

	if (!sys_readable(ip) || !sys_readable(ip + 1))
		return false;
	memcpy(code, (const void *)ip, sizeof(code));
	return code[0] == 0x0f && code[1] == 0x05;
}

void
resume_tidy(ucontext_t *context)
{
	greg_t *regs = context->uc_mcontext.gregs;

	if (between((uintptr_t)regs[REG_RIP], arch_resume_begin,
		    arch_resume_jump)) {
		/* The vector registers are the interrupted code's already. */
		memcpy(regs, (const void *)regs[REG_RSP],
		       sizeof(context->uc_mcontext.gregs));
		return;
	}
	if ((uintptr_t)regs[REG_RIP] == (uintptr_t)arch_resume_jump)
		regs[REG_RIP] = regs[REG_RCX];
	/* The kernel itself also leaves a thread so, when it has stopped. */
	if (regs[REG_RAX] != SYS_restart_syscall ||
	    !is_syscall_instruction((uintptr_t)regs[REG_RIP]))
		return;
	regs[REG_RIP] += ARCH_SYSCALL_BYTES;
	regs[REG_RCX] = regs[REG_RIP];
	regs[REG_R11] = regs[REG_EFL];
	regs[REG_RAX] = -EINTR;
}

void
resume_registers(struct unwind_registers *registers)
{
	struct arch_resume_block block;

	if (!between(registers->ip, arch_resume_begin, arch_resume_jump))
		return;
	memcpy(&block, (const void *)registers->sp, sizeof(block));
	registers->ip = (uintptr_t)block.registers[REG_RIP];
	registers->sp = (uintptr_t)block.registers[REG_RSP];
	registers->fp = (uintptr_t)block.registers[REG_RBP];
	registers->bx = (uintptr_t)block.registers[REG_RBX];
}

static int
seccomp_mode(void)
{
	return (int)sys_call5(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0);
}

/* True if all that rt_sigreturn would do for this context is done here, too. */
static bool
is_plain(const ucontext_t *context, uint64_t components)
{
	return components != 0 &&
	       (context->uc_mcontext.gregs[REG_EFL] & ARCH_FLAGS_STRANGE) ==
		       0 &&
	       ((unsigned)context->uc_stack.ss_flags & SS_AUTODISARM) == 0 &&
	       !arch_xsave_changes_keys(context, components) &&
	       !arch_has_shadow_stack();
}

void
resume_call(const ucontext_t *context)
{
	uint64_t components = arch_xsave_components(context);
	const greg_t *regs = context->uc_mcontext.gregs;
	struct arch_resume_block *block;
	uint64_t mask;

	/* Relaxed: only the number counts. A filter that came after the probe
	 * might refuse the call, or end the program for it. */
	if (atomic_load_relaxed(&granted) != 1U + (unsigned)seccomp_mode() ||
	    !is_plain(context, components))
		return;
	/*
	 * In the signal's frame, over the vector registers, which are loaded
	 * before; but with an alternate stack, where that has room anyhow.
	 */
	block = (void *)arch_below_red_zone((uintptr_t)regs[REG_RSP],
					    sizeof(*block));
	if (!sys_overwrite((uintptr_t)block) ||
	    !sys_overwrite((uintptr_t)&block->mask))
		return;
	memcpy(&mask, &context->uc_sigmask, sizeof(mask));
	arch_resume(block, regs, context->uc_mcontext.fpregs, components, mask);
}

void
resume_probe(void)
{
	/* Relaxed: there is one dump child at a time. */
	if (atomic_load_relaxed(&granted) != 0)
		return;
	/* There is nothing to restart, which the kernel answers so. */
	if (sys_call0(SYS_restart_syscall) == -EINTR)
		atomic_store_relaxed(&granted, 1U + (unsigned)seccomp_mode());
}
