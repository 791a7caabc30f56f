/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume.c - when that can be done, the states a signal can find it in, and the
 * trial; see resume.h and arch/x86_64_resume.h.
 *
 * The words of a thread are one of a few slots: it has one for some ten
 * instructions. A handler of the host that interrupts these may be interrupted
 * itself in a call; what would go on with that finds the slot in use, and does
 * nothing. If that handler leaves by longjmp the slot remains in use, and the
 * thread's calls are left to the kernel from then on.
 */
#include "resume.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "arch/x86_64.h"
#include "arch/x86_64_resume.h"
#include "atomics.h"
#include "compiler.h"
#include "config.h"
#include "log.h"
#include "sys.h"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

#define SLOTS 64

static struct arch_resume_words slots[SLOTS];
__thread struct arch_resume_words *arch_resume_words;

/* Atomic. A trial that ends the dump child is FAILED, and not made again. */
static uint32_t state;
enum { UNTRIED, FAILED, TOLD, WORKS, UNWANTED };

static bool
between(uintptr_t ip, const char *begin, const char *end)
{
	return ip >= (uintptr_t)begin && ip < (uintptr_t)end;
}

static bool
is_syscall_instruction(uintptr_t ip)
{
	const unsigned char *code = (const unsigned char *)ip;

	/* The two bytes may lie on two pages. */
	return sys_readable(ip) && sys_readable(ip + 1) && code[0] == 0x0f &&
	       code[1] == 0x05;
}

void
resume_tidy(ucontext_t *context)
{
	greg_t *regs = context->uc_mcontext.gregs;

	if (between((uintptr_t)regs[REG_RIP], arch_resume_begin,
		    arch_resume_jump)) {
		/* All others are the interrupted code's already. */
		struct arch_resume_words *words = arch_resume_words;

		regs[REG_RDI] = (greg_t)words->di;
		regs[REG_RSI] = (greg_t)words->si;
		regs[REG_RDX] = (greg_t)words->dx;
		regs[REG_R10] = (greg_t)words->r10;
		regs[REG_RIP] = (greg_t)words->ip;
		regs[REG_RAX] = SYS_restart_syscall;
		/* Release pairs with claim(): the words are read. */
		atomic_store_release(&words->owner, 0);
	} else if ((uintptr_t)regs[REG_RIP] == (uintptr_t)arch_resume_jump) {
		regs[REG_RIP] = regs[REG_R11];
	}
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
resume_registers(struct unwind_registers *registers, uintptr_t thread_pointer)
{
	/* Each thread has it at the same distance. */
	uintptr_t distance =
		arch_thread_pointer() - (uintptr_t)&arch_resume_words;
	const struct arch_resume_words *words;

	if (!between(registers->ip, arch_resume_begin, arch_resume_jump))
		return;
	memcpy(&words, (const void *)(thread_pointer - distance),
	       sizeof(words));
	registers->ip = words->ip;
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

static bool
claim(void)
{
	uintptr_t self = arch_thread_pointer();

	/* Relaxed: only this thread itself writes that value. */
	if (arch_resume_words != NULL &&
	    atomic_load_relaxed(&arch_resume_words->owner) == self)
		return false;
	for (unsigned i = 0; i < SLOTS; i++) {
		uint64_t expected = 0;

		/* Acquire pairs with the store of 0 in arch_resume(), and in
		 * resume_tidy(): the last owner has read its words. */
		if (atomic_cas_acquire(&slots[i].owner, &expected, self)) {
			arch_resume_words = &slots[i];
			return true;
		}
	}
	return false;
}

static void
go_on(const ucontext_t *context)
{
	uint64_t components = arch_xsave_components(context);
	const greg_t *regs = context->uc_mcontext.gregs;
	struct arch_resume_words *words;

	if (!is_plain(context, components) || !claim())
		return;
	words = arch_resume_words;
	words->di = (uint64_t)regs[REG_RDI];
	words->si = (uint64_t)regs[REG_RSI];
	words->dx = (uint64_t)regs[REG_RDX];
	words->r10 = (uint64_t)regs[REG_R10];
	words->ip = (uint64_t)regs[REG_RIP] - ARCH_SYSCALL_BYTES;
	/* The protection keys are what they are to be, and need no memory. */
	arch_resume(regs, context->uc_mcontext.fpregs,
		    components & ~ARCH_XSAVE_PKRU, &context->uc_sigmask);
}

void
resume_call(const ucontext_t *context)
{
	uint32_t expected = FAILED;

	/* Relaxed: nothing comes with it. */
	if (atomic_load_relaxed(&state) == WORKS)
		go_on(context);
	else if (config.log >= LOG_INFO &&
		 atomic_cas_relaxed(&state, &expected, TOLD))
		log_late("interrupted calls do not go on: %s",
			 resume_refusal());
}

const char *
resume_refusal(void)
{
	/* Relaxed, as in resume_call(). */
	switch (config.resume ? atomic_load_relaxed(&state) : UNWANTED) {
	case UNWANTED:
		return "HEAPAGENT_RESUME=0";
	case UNTRIED:
		return "not tried, as under a seccomp filter";
	case FAILED:
	case TOLD:
		return "not all registers came back in a trial";
	default:
		return NULL;
	}
}

/* --- the trial */

/* What of the state is tried: AVX-512's ends before. */
struct area {
	_Alignas(ARCH_XSAVE_ALIGNMENT) unsigned char bytes[4096];
};

/* Runs what on each part of the areas that the components have. False if one
 * lies elsewhere, or if what says so. */
static bool
for_each_part(struct area *a, const struct area *b, uint64_t components,
	      bool (*what)(unsigned char *a, const unsigned char *b,
			   size_t size_bytes))
{
	if (!what(a->bytes + ARCH_XSAVE_XMM_AT, b->bytes + ARCH_XSAVE_XMM_AT,
		  ARCH_XSAVE_XMM_BYTES))
		return false;
	for (unsigned i = 2; i < 64; i++) {
		uint32_t at, size_bytes;

		if ((components >> i & 1) == 0)
			continue;
		size_bytes = arch_xsave_component(i, &at);
		if (at + size_bytes > sizeof(a->bytes) ||
		    !what(a->bytes + at, b->bytes + at, size_bytes))
			return false;
	}
	return true;
}

static bool
fill(unsigned char *a, const unsigned char *b, size_t size_bytes)
{
	(void)b;
	for (size_t i = 0; i < size_bytes; i++)
		a[i] = (unsigned char)((uintptr_t)&a[i] * 37 | 1);
	return true;
}

static bool
is_same(unsigned char *a, const unsigned char *b, size_t size_bytes)
{
	return memcmp(a, b, size_bytes) == 0;
}

void
resume_try_handler(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	go_on(context);
}

/* True if the call was gone on with, and all registers came back. */
static bool
try(int signal)
{
	const uint32_t rounding_down = 0x3f80; /* MXCSR, no trap */
	uint64_t components = arch_xsave_enabled() & ARCH_XSAVE_PLAIN;
	struct area in = { 0 }, out = { 0 };
	unsigned char *header = in.bytes + ARCH_XSAVE_HEADER_AT;
	bool works;

	if ((components & ARCH_XSAVE_SSE) == 0 ||
	    !for_each_part(&in, &in, components, fill))
		return false;
	memcpy(header, &components, sizeof(components));
	memcpy(in.bytes + ARCH_XSAVE_MXCSR_AT, &rounding_down,
	       sizeof(rounding_down));
	/* There is nothing to restart, which the kernel answers so. */
	works = arch_resume_trial(&in, &out, components, sys_getpid(),
				  signal) == -EINTR &&
		for_each_part(&out, &in, components, is_same) &&
		memcmp(out.bytes + ARCH_XSAVE_MXCSR_AT, &rounding_down,
		       sizeof(rounding_down)) == 0;
	__builtin_ia32_ldmxcsr(0x1f80);
	return works;
}

void
resume_try(int signal, size_t tls_bytes)
{
	uintptr_t distance =
		arch_thread_pointer() - (uintptr_t)&arch_resume_words;

	/* Relaxed: there is one dump child at a time. */
	if (!config.resume || atomic_load_relaxed(&state) != UNTRIED ||
	    distance > tls_bytes || sys_is_filtered())
		return;
	atomic_store_relaxed(&state, FAILED);
	if (try(signal))
		atomic_store_relaxed(&state, WORKS);
}
