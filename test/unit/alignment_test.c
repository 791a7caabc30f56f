/* SPDX-License-Identifier: Apache-2.0 */
/* alignment_test.c - a signal in code that has its alignment checked. */
/* LINK: restart restart_table call_number instruction */
/* LINK: resume log config sys */
#include "restart.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

static void
read_unaligned(int signal, siginfo_t *info, void *context)
{
	static const char bytes[16];
	int value;

	(void)signal;
	(void)info;
	restart_begin(context);
	__asm__ volatile("mov (%1), %0" : "=r"(value) : "r"(bytes + 1));
	(void)restart_call(context, RESTART_IS_DIRECT(context));
}

static void
alignment_is_not_checked_in_a_handler(void **state)
{
	struct sigaction action = { .sa_sigaction = read_unaligned,
				    .sa_flags = SA_SIGINFO };
	uint64_t flags = SYS_kill; /* in rax */

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	/* kill(getpid(), SIGUSR1) with the alignment check on. */
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "pushfq\n\t"
			 "orq $0x40000, (%%rsp)\n\t"
			 "popfq\n\t"
			 "syscall\n\t"
			 "pushfq\n\t"
			 "mov (%%rsp), %%rax\n\t"
			 "andq $~0x40000, (%%rsp)\n\t"
			 "popfq\n\t"
			 "lea 128(%%rsp), %%rsp"
			 : "+a"(flags)
			 : "D"(getpid()), "S"(SIGUSR1)
			 : "rcx", "r11", "memory", "cc");
	assert_true((flags & 0x40000) != 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alignment_is_not_checked_in_a_handler),
	};

	return CHECK_RUN(tests);
}
