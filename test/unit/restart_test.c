/* SPDX-License-Identifier: Apache-2.0 */
/* restart_test.c - which interrupted calls are made again, and how. */
/* LINK: restart restart_table call_number instruction */
/* LINK: resume log config sys */
#include "restart.h"

#include <errno.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "call_number.h"
#include "check.h"
#include "sys.h"

/* The stack of an interrupted call; glibc 2.41 has the number there. */
static long stack[64];

/* The end of a system call in libc's text that has this number. */
static int
find_call(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
	uintptr_t *ip = context;
	const char *name = strrchr(info->dlpi_name, '/');

	(void)size_bytes;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + segment->p_vaddr;
		uintptr_t end = at + segment->p_filesz - 2;

		if (name == NULL || strcmp(name, "/libc.so.6") != 0 ||
		    segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		for (; at < end; at++)
			if (memcmp((const void *)at, "\x0f\x05", 2) == 0 &&
			    call_number(at + 2, (uintptr_t)stack) == stack[0]) {
				*ip = at + 2;
				return 1;
			}
	}
	return 0;
}

static ucontext_t
interrupted(long nr)
{
	ucontext_t context;
	uintptr_t ip = 0;

	memset(&context, 0, sizeof(context));
	for (unsigned i = 0; i < sizeof(stack) / sizeof(stack[0]); i++)
		stack[i] = nr;
	assert_int_equal(dl_iterate_phdr(find_call, &ip), 1);
	context.uc_mcontext.gregs[REG_RIP] = (greg_t)ip;
	context.uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)stack;
	context.uc_mcontext.gregs[REG_RAX] = -EINTR;
	return context;
}

/* The handler's end. */
static bool
ended(ucontext_t *context)
{
	restart_begin(context);
	return restart_call(context, true);
}

/* Made again as it was: nothing else has changed. */
static void
assert_rerun(ucontext_t *context, long nr)
{
	ucontext_t before = *context;

	assert_true(ended(context));
	before.uc_mcontext.gregs[REG_RIP] -= 2;
	before.uc_mcontext.gregs[REG_RAX] = nr;
	assert_memory_equal(context, &before, sizeof(before));
}

static void
assert_left(ucontext_t *context)
{
	ucontext_t before = *context;

	assert_false(ended(context));
	assert_memory_equal(context, &before, sizeof(before));
}

static void
an_endless_call_is_made_again(void **state)
{
	ucontext_t context = interrupted(SYS_epoll_wait);

	(void)state;
	context.uc_mcontext.gregs[REG_R10] = -1;
	assert_rerun(&context, SYS_epoll_wait);
}

static void
a_finite_call_keeps_its_result(void **state)
{
	ucontext_t context = interrupted(SYS_epoll_wait);

	(void)state;
	context.uc_mcontext.gregs[REG_R10] = 100;
	assert_left(&context);
	context = interrupted(SYS_poll);
	context.uc_mcontext.gregs[REG_RDX] = 100;
	assert_left(&context);
}

/* Whoever has wrapped our handler has something to do after it. */
static void
nothing_is_done_in_a_wrapped_handler(void **state)
{
	ucontext_t context = interrupted(SYS_epoll_wait), before;

	(void)state;
	context.uc_mcontext.gregs[REG_R10] = -1;
	before = context;
	assert_false(restart_call(&context, false));
	assert_memory_equal(&context, &before, sizeof(before));
}

static bool was_direct;

static void
on_signal(int nr, siginfo_t *info, void *context)
{
	(void)nr;
	(void)info;
	was_direct = RESTART_IS_DIRECT(context);
}

static void
wrapping(int nr, siginfo_t *info, void *context)
{
	void (*volatile handler)(int, siginfo_t *, void *) = on_signal;

	handler(nr, info, context);
	__asm__ volatile(""); /* no tail call */
}

static void
a_wrapped_handler_is_noticed(void **state)
{
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO };

	(void)state;
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	assert_true(was_direct);
	action.sa_sigaction = wrapping;
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	assert_false(was_direct);
}

static void
a_call_that_ended_otherwise_is_left_alone(void **state)
{
	ucontext_t context = interrupted(SYS_pause);

	(void)state;
	context.uc_mcontext.gregs[REG_RAX] = -EAGAIN;
	assert_left(&context);
	context.uc_mcontext.gregs[REG_RAX] = 0;
	assert_left(&context);
	/* A part is a part, as after any signal. */
	context = interrupted(SYS_write);
	context.uc_mcontext.gregs[REG_RAX] = 10;
	context.uc_mcontext.gregs[REG_RDX] = 100;
	assert_left(&context);
}

/* Not what looks like a number, and not even one that is. */
static void
a_call_of_the_programs_own_is_left_alone(void **state)
{
	/* mov $SYS_epoll_pwait, %eax; xor %r8d, %r8d; syscall */
	static const unsigned char code[] = { 0x90, 0x90, 0x90, 0x90, 0xb8,
					      0x19, 0x01, 0x00, 0x00, 0x45,
					      0x31, 0xc0, 0x0f, 0x05 };
	ucontext_t context = interrupted(SYS_epoll_pwait);

	(void)state;
	context.uc_mcontext.gregs[REG_R10] = -1;
	context.uc_mcontext.gregs[REG_RIP] =
		(greg_t)(uintptr_t)(code + sizeof(code));
	assert_left(&context);
}

static void
code_that_cannot_be_read_is_not(void **state)
{
	ucontext_t context;

	(void)state;
	memset(&context, 0, sizeof(context));
	context.uc_mcontext.gregs[REG_RAX] = -EINTR;
	context.uc_mcontext.gregs[REG_RIP] = 2;
	assert_left(&context);
}

static void
a_sleep_is_made_again_if_it_has_an_end(void **state)
{
	ucontext_t context = interrupted(SYS_clock_nanosleep);
	struct timespec request = { 9, 0 }, remaining = { 3, 0 };

	(void)state;
	context.uc_mcontext.gregs[REG_RDX] = (greg_t)(uintptr_t)&request;
	context.uc_mcontext.gregs[REG_R10] = (greg_t)(uintptr_t)&remaining;
	assert_left(&context);
	context.uc_mcontext.gregs[REG_RSI] = TIMER_ABSTIME;
	assert_rerun(&context, SYS_clock_nanosleep);
}

/* Its descriptor may be another file's by then; it would say EALREADY. */
static void
close_and_connect_are_never_made_again(void **state)
{
	ucontext_t context = interrupted(SYS_close);

	(void)state;
	assert_left(&context);
	context = interrupted(SYS_connect);
	assert_left(&context);
}

static void
do_nothing(int nr)
{
	(void)nr;
}

/* A signal of the host that is pending is what the call ended for. */
static void
a_pending_signal_wants_the_result(void **state)
{
	ucontext_t context = interrupted(SYS_pause);
	sigset_t set, before;
	int nr;

	(void)state;
	signal(SIGUSR1, do_nothing);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &before);
	raise(SIGUSR1);
	assert_left(&context);
	/* Unless the interrupted code blocks it. */
	sigaddset(&context.uc_sigmask, SIGUSR1);
	assert_rerun(&context, SYS_pause);
	sigwait(&set, &nr);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* It waits only because it is blocked, and nothing will come of it. */
static void
a_pending_signal_that_is_ignored_does_not(void **state)
{
	static const int ignored[] = { SIGCHLD, SIGWINCH, SIGURG, SIGCONT };
	const struct timespec now = { 0, 0 };
	ucontext_t context = interrupted(SYS_pause);
	sigset_t set, before, pending;

	(void)state;
	sigemptyset(&set);
	for (unsigned i = 0; i < 4; i++)
		sigaddset(&set, ignored[i]);
	sigprocmask(SIG_BLOCK, &set, &before);
	for (unsigned i = 0; i < 4; i++)
		raise(ignored[i]);
	sigpending(&pending);
	assert_int_equal(sigismember(&pending, SIGCHLD), 1);
	assert_rerun(&context, SYS_pause);
	/* The same one with a handler. */
	context = interrupted(SYS_pause);
	signal(SIGCHLD, do_nothing);
	assert_left(&context);
	while (sigtimedwait(&set, NULL, &now) > 0)
		;
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void
the_table(void **state)
{
	const uint64_t none[6] = { 0 };
	const uint64_t wait[6] = { 0, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, 99 };
	const uint64_t bitset[6] = { 0, FUTEX_WAIT_BITSET, 0, 99 };
	const uint64_t lock[6] = { 0, FUTEX_LOCK_PI };
	const uint64_t pointer[6] = { 0, 0, 99 };
	const uint64_t fifth[6] = { 0, 0, 0, 0, 99 };
	const uint64_t endless[6] = { 0, 0, 0, UINT32_MAX };
	const uint64_t finite[6] = { 0, 0, 0, 7 };

	const uint64_t all[6] = { 0, 0, 0, MSG_WAITALL };
	const uint64_t two[6] = { 0, 2, 2 };

	(void)state;
	assert_int_equal(restart_how(SYS_pause, none), RESTART_AS_IS);
	assert_int_equal(restart_how(SYS_ppoll, pointer), RESTART_LESS);
	assert_int_equal(restart_how(SYS_ppoll, none), RESTART_AS_IS);
	assert_int_equal(restart_how(SYS_epoll_wait, endless), RESTART_AS_IS);
	assert_int_equal(restart_how(SYS_epoll_wait, finite), RESTART_NEVER);
	assert_int_equal(restart_how(SYS_epoll_wait, none), RESTART_NEVER);
	assert_int_equal(restart_how(SYS_semtimedop, none), RESTART_AS_IS);
	assert_int_equal(restart_how(SYS_semtimedop, finite), RESTART_NEVER);
	assert_int_equal(restart_how(SYS_io_getevents, none), RESTART_AS_IS);
	assert_int_equal(restart_how(SYS_io_getevents, fifth), RESTART_NEVER);
	assert_int_equal(restart_how(SYS_futex, wait), RESTART_NEVER);
	assert_int_equal(restart_how(SYS_futex, bitset), RESTART_AS_IS);
	assert_int_equal(restart_how(SYS_futex, lock), RESTART_UNKNOWN);
	assert_int_equal(restart_how(SYS_recvmsg, none), RESTART_ANEW);
	assert_int_equal(restart_how(SYS_getpid, none), RESTART_UNKNOWN);
	assert_int_equal(restart_how(SYS_write, none), RESTART_PART);
	assert_int_equal(restart_how(SYS_recvfrom, none), RESTART_ANEW);
	assert_int_equal(restart_how(SYS_recvfrom, all), RESTART_PART);
	assert_int_equal(restart_how(SYS_io_getevents, two), RESTART_PART);
	assert_int_equal(restart_how(SYS_io_uring_enter, none), RESTART_AS_IS);
	assert_int_equal(restart_how(SYS_io_uring_enter, two), RESTART_PART);
	/* Not even if it says EINTR: the descriptor is closed, or connects. */
	assert_int_equal(restart_how(SYS_close, none), RESTART_UNKNOWN);
	assert_int_equal(restart_how(SYS_connect, none), RESTART_NEVER);
	assert_false(restart_follows_stop(SYS_close));
	assert_false(restart_follows_stop(SYS_connect));
	assert_true(restart_follows_stop(SYS_epoll_wait));
	assert_true(restart_follows_stop(SYS_rt_sigtimedwait));
	assert_false(restart_follows_stop(SYS_poll));
	assert_false(restart_follows_stop(-1));
}

extern const char arch_resume_jump[];

static void
other_code_is_no_restart(void **state)
{
	ucontext_t context, before;

	(void)state;
	memset(&context, 0, sizeof(context));
	context.uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)poll;
	context.uc_mcontext.gregs[REG_RAX] = SYS_restart_syscall;
	before = context;
	(void)restart_begin(&context);
	assert_memory_equal(&context, &before, sizeof(context));
	context.uc_mcontext.gregs[REG_RIP] = 16;
	(void)restart_begin(&context);
	assert_int_equal(context.uc_mcontext.gregs[REG_RIP], 16);
}

static void
a_restart_is_as_if_interrupted(void **state)
{
	static const unsigned char code[2] = { 0x0f, 0x05 };
	greg_t ip = (greg_t)(uintptr_t)code;
	ucontext_t context;

	(void)state;
	memset(&context, 0, sizeof(context));
	context.uc_mcontext.gregs[REG_RAX] = SYS_restart_syscall;
	context.uc_mcontext.gregs[REG_RIP] = ip;
	(void)restart_begin(&context);
	assert_int_equal(context.uc_mcontext.gregs[REG_RIP], ip + 2);
	assert_int_equal(context.uc_mcontext.gregs[REG_RAX], -EINTR);
	/* On its way there. */
	context.uc_mcontext.gregs[REG_RAX] = SYS_restart_syscall;
	context.uc_mcontext.gregs[REG_R11] = ip;
	context.uc_mcontext.gregs[REG_RIP] =
		(greg_t)(uintptr_t)arch_resume_jump;
	(void)restart_begin(&context);
	assert_int_equal(context.uc_mcontext.gregs[REG_RIP], ip + 2);
	assert_int_equal(context.uc_mcontext.gregs[REG_RAX], -EINTR);
}

/* A thread that waits in restart_syscall waits in the call that goes on. */
static void
the_number_is_the_calls_own(void **state)
{
	ucontext_t context = interrupted(SYS_poll);
	uintptr_t ip = (uintptr_t)context.uc_mcontext.gregs[REG_RIP];
	uintptr_t sp = (uintptr_t)stack;

	(void)state;
	assert_int_equal(restart_number(SYS_restart_syscall, ip, sp), SYS_poll);
	assert_int_equal(restart_number(SYS_futex, ip, sp), SYS_futex);
	assert_int_equal(restart_number(-1, ip, sp), -1);
	assert_int_equal(restart_number(SYS_restart_syscall, ip - 1, sp),
			 SYS_restart_syscall);
}

/* The kernel has written what remains where the call reads its time-out. */
static void
what_was_written_is_waited_for(void **state)
{
	ucontext_t context = interrupted(SYS_ppoll);
	struct timespec remaining = { 100, 500 };

	(void)state;
	context.uc_mcontext.gregs[REG_RDX] = (greg_t)(uintptr_t)&remaining;
	assert_rerun(&context, SYS_ppoll);
	assert_int_equal(remaining.tv_sec, 100);
	assert_int_equal(remaining.tv_nsec, 500);
}

/* --- in a child: under a filter that allows all */

static void
no_call_is_made_again_under_a_filter(void **state)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };
	ucontext_t context = interrupted(SYS_pause);
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
			_exit(2);
		_exit(ended(&context));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_endless_call_is_made_again),
		cmocka_unit_test(a_finite_call_keeps_its_result),
		cmocka_unit_test(nothing_is_done_in_a_wrapped_handler),
		cmocka_unit_test(a_wrapped_handler_is_noticed),
		cmocka_unit_test(a_call_that_ended_otherwise_is_left_alone),
		cmocka_unit_test(a_call_of_the_programs_own_is_left_alone),
		cmocka_unit_test(code_that_cannot_be_read_is_not),
		cmocka_unit_test(a_sleep_is_made_again_if_it_has_an_end),
		cmocka_unit_test(close_and_connect_are_never_made_again),
		cmocka_unit_test(a_pending_signal_wants_the_result),
		cmocka_unit_test(a_pending_signal_that_is_ignored_does_not),
		cmocka_unit_test(other_code_is_no_restart),
		cmocka_unit_test(a_restart_is_as_if_interrupted),
		cmocka_unit_test(the_number_is_the_calls_own),
		cmocka_unit_test(what_was_written_is_waited_for),
		cmocka_unit_test(no_call_is_made_again_under_a_filter),
		cmocka_unit_test(the_table),
	};

	restart_init();
	return CHECK_RUN(tests);
}
