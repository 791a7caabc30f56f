/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restarting.h - SIGUSR1's handler lets interrupted calls go on, as ours does;
 * SIGUSR2 is the host's.
 */
#ifndef HEAPAGENT_TEST_RESTARTING_H
#define HEAPAGENT_TEST_RESTARTING_H

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "interrupt.h"
#include "restart.h"

static atomic_int repeated;

static inline void
on_ours(int nr, siginfo_t *info, void *context)
{
	uint64_t begin_ns = restart_begin(context);

	(void)nr;
	if (restart_call(context, info, begin_ns))
		repeated++;
}

/* For each test. */
static inline int
prepare(void **state)
{
	(void)state;
	install_handlers(on_ours);
	signal(SIGPIPE, SIG_IGN);
	repeated = 0;
	return 0;
}

/* The same test with an alternate stack for the handlers. */
static inline void
on_alternate_stack(void (*test)(void **state), void **state)
{
	stack_t stack = { .ss_sp = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			  .ss_size = 65536 };
	const stack_t none = { .ss_flags = SS_DISABLE };

	assert_int_equal(sigaltstack(&stack, NULL), 0);
	test(state);
	assert_int_equal(sigaltstack(&none, NULL), 0);
	munmap(stack.ss_sp, stack.ss_size);
}

#endif
