/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resuming.h - SIGUSR1's handler goes on with the call that it interrupts, as
 * ours does; SIGUSR2 is the host's.
 */
#ifndef HEAPAGENT_TEST_RESUMING_H
#define HEAPAGENT_TEST_RESUMING_H

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "interrupt.h"
#include "resume.h"
#include "sys.h"

extern const char arch_resume_begin[], arch_resume_jump[];

static atomic_int handled, inside, raise_again;
static uintptr_t lowest_sp;

static inline void
spoil_vectors(void)
{
	__asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n\t"
			 "pcmpeqd %%xmm7, %%xmm7\n\t"
			 "pcmpeqd %%xmm15, %%xmm15"
			 :
			 :
			 : "xmm0", "xmm7", "xmm15");
}

static inline void
on_ours(int nr, siginfo_t *info, void *argument)
{
	ucontext_t *context = argument;
	uintptr_t ip = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];

	(void)info;
	handled++;
	if (ip >= (uintptr_t)arch_resume_begin &&
	    ip <= (uintptr_t)arch_resume_jump)
		inside++;
	if (lowest_sp == 0 || (uintptr_t)&context < lowest_sp)
		lowest_sp = (uintptr_t)&context;
	resume_tidy(context);
	if (raise_again > 0) {
		/* It comes as soon as the signals are no longer blocked. */
		raise_again--;
		sys_call3(SYS_tgkill, getpid(), sys_gettid(), nr);
	}
	spoil_vectors();
	if (context->uc_mcontext.gregs[REG_RAX] == -EINTR)
		resume_call(context);
}

static inline int
prepare(void **state)
{
	(void)state;
	install_handlers(on_ours);
	handled = inside = raise_again = 0;
	lowest_sp = 0;
	return 0;
}

/* As in a dump child: nothing was interrupted here before. */
static inline void
try_it(void)
{
	struct sigaction action = { .sa_sigaction = resume_try_handler,
				    .sa_flags = SA_SIGINFO };

	sigaction(SIGURG, &action, NULL);
	resume_try(SIGURG, 4096);
	signal(SIGURG, SIG_DFL);
	if (resume_refusal() != NULL)
		print_message("# refused: %s\n", resume_refusal());
}

#endif
