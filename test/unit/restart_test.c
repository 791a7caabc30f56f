/* SPDX-License-Identifier: Apache-2.0 */
/* restart_test.c - which interrupted calls are made again, and how. */
/* LINK: restart restart_table call_number resume log config sys */
#include "restart.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "sys.h"

/* Code as libc has it, behind enough bytes to look back on. */
struct code {
	unsigned char bytes[64];
	unsigned length;
};

static void
emit(struct code *code, const void *bytes, unsigned count)
{
	memcpy(code->bytes + code->length, bytes, count);
	code->length += count;
}

static void
emit_number(struct code *code, uint32_t nr)
{
	emit(code, "\xb8", 1);
	emit(code, &nr, sizeof(nr));
}

static struct code
code_of(uint32_t nr)
{
	struct code code = { .length = 32 };

	emit_number(&code, nr);
	emit(&code, "\x0f\x05", 2);
	return code;
}

static ucontext_t
interrupted(const struct code *code)
{
	ucontext_t context;

	memset(&context, 0, sizeof(context));
	context.uc_mcontext.gregs[REG_RIP] =
		(greg_t)(uintptr_t)(code->bytes + code->length);
	context.uc_mcontext.gregs[REG_RAX] = -EINTR;
	return context;
}

/* The handler's end. */
static bool
ended(ucontext_t *context)
{
	return restart_call(context, restart_begin(context));
}

static void
assert_rerun(const ucontext_t *context, const struct code *code, long nr)
{
	assert_ptr_equal(context->uc_mcontext.gregs[REG_RIP],
			 code->bytes + code->length - 2);
	assert_int_equal(context->uc_mcontext.gregs[REG_RAX], nr);
}

static void
an_endless_call_is_made_again(void **state)
{
	struct code code = code_of(SYS_poll);
	ucontext_t context = interrupted(&code);

	(void)state;
	context.uc_mcontext.gregs[REG_RDX] = -1;
	assert_true(ended(&context));
	assert_rerun(&context, &code, SYS_poll);
	assert_int_equal(context.uc_mcontext.gregs[REG_RDX], -1);
}

static void
a_finite_call_keeps_its_result(void **state)
{
	struct code code = code_of(SYS_poll);
	ucontext_t context = interrupted(&code);

	(void)state;
	context.uc_mcontext.gregs[REG_RDX] = 100;
	assert_false(ended(&context));
	assert_int_equal(context.uc_mcontext.gregs[REG_RAX], -EINTR);
	assert_ptr_equal(context.uc_mcontext.gregs[REG_RIP],
			 code.bytes + code.length);
}

static void
a_call_that_ended_otherwise_is_left_alone(void **state)
{
	struct code code = code_of(SYS_pause);
	ucontext_t context = interrupted(&code);

	(void)state;
	context.uc_mcontext.gregs[REG_RAX] = -EAGAIN;
	assert_false(ended(&context));
	context.uc_mcontext.gregs[REG_RAX] = 0;
	assert_false(ended(&context));
}

static void
minus_four_in_plain_code_is_left_alone(void **state)
{
	struct code code = { .length = 32 };
	ucontext_t context;

	(void)state;
	emit_number(&code, SYS_pause);
	emit(&code, "\x90\x90", 2); /* no system call before us */
	context = interrupted(&code);
	assert_false(ended(&context));
}

static void
an_instruction_may_stand_between(void **state)
{
	struct code code = { .length = 32 };
	ucontext_t context;

	(void)state;
	emit_number(&code, SYS_epoll_pwait);
	emit(&code, "\x8b\x7c\x24\x04", 4); /* mov 4(%rsp), %edi */
	emit(&code, "\x0f\x05", 2);
	context = interrupted(&code);
	context.uc_mcontext.gregs[REG_R10] = -1;
	assert_true(ended(&context));
	assert_rerun(&context, &code, SYS_epoll_pwait);
}

static void
a_number_that_is_not_in_the_code_is_not_guessed(void **state)
{
	struct code code = { .length = 32 };
	ucontext_t context;

	(void)state;
	emit(&code, "\x48\x89\xf8", 3); /* mov %rdi, %rax: syscall() */
	emit(&code, "\x0f\x05", 2);
	context = interrupted(&code);
	context.uc_mcontext.gregs[REG_RDX] = -1;
	assert_false(ended(&context));
}

static void
code_that_cannot_be_read_is_not(void **state)
{
	ucontext_t context;

	(void)state;
	memset(&context, 0, sizeof(context));
	context.uc_mcontext.gregs[REG_RAX] = -EINTR;
	context.uc_mcontext.gregs[REG_RIP] = 2;
	assert_false(ended(&context));
}

static void
a_sleep_goes_on_with_what_remains(void **state)
{
	struct code code = code_of(SYS_clock_nanosleep);
	ucontext_t context = interrupted(&code);
	struct timespec request = { 9, 0 }, remaining = { 3, 0 };

	(void)state;
	context.uc_mcontext.gregs[REG_RDX] = (greg_t)(uintptr_t)&request;
	context.uc_mcontext.gregs[REG_R10] = (greg_t)(uintptr_t)&remaining;
	assert_true(ended(&context));
	assert_rerun(&context, &code, SYS_clock_nanosleep);
	assert_ptr_equal(context.uc_mcontext.gregs[REG_RDX], &remaining);
	assert_int_equal(request.tv_sec, 9);
	/* Nobody knows what remains: */
	context = interrupted(&code);
	context.uc_mcontext.gregs[REG_RDX] = (greg_t)(uintptr_t)&request;
	assert_false(ended(&context));
	/* It is known, as a point in time: */
	context.uc_mcontext.gregs[REG_RSI] = TIMER_ABSTIME;
	assert_true(ended(&context));
	assert_ptr_equal(context.uc_mcontext.gregs[REG_RDX], &request);
}

/* Its descriptor may be another file's by then; it would say EALREADY. */
static void
close_and_connect_are_never_made_again(void **state)
{
	struct code code = code_of(SYS_close);
	ucontext_t context = interrupted(&code);

	(void)state;
	assert_false(ended(&context));
	code = code_of(SYS_connect);
	context = interrupted(&code);
	assert_false(ended(&context));
}

/* A part is a part, as after any signal. */
static void
a_part_is_left_alone(void **state)
{
	struct code code = code_of(SYS_write);
	ucontext_t context = interrupted(&code);

	(void)state;
	context.uc_mcontext.gregs[REG_RAX] = 10;
	context.uc_mcontext.gregs[REG_RDX] = 100;
	assert_false(ended(&context));
	assert_int_equal(context.uc_mcontext.gregs[REG_RAX], 10);
}

/* A signal of the host that is pending is what the call ended for. */
static void
a_pending_signal_wants_the_result(void **state)
{
	struct code code = code_of(SYS_pause);
	ucontext_t context = interrupted(&code);
	sigset_t set, before;
	int nr;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &before);
	raise(SIGUSR1);
	assert_false(ended(&context));
	/* Unless the interrupted code blocks it. */
	sigaddset(&context.uc_sigmask, SIGUSR1);
	assert_true(ended(&context));
	sigwait(&set, &nr);
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
	/* Not even if it says EINTR: the descriptor is closed. */
	assert_int_equal(restart_how(SYS_close, none), RESTART_NEVER);
	assert_true(restart_notices_stop(SYS_close));
	assert_false(restart_follows_stop(SYS_close));
	assert_true(restart_follows_stop(SYS_epoll_wait));
	assert_true(restart_notices_stop(SYS_epoll_wait));
	assert_true(restart_notices_stop(SYS_rt_sigtimedwait));
	assert_false(restart_notices_stop(SYS_poll));
	assert_false(restart_notices_stop(-1));
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
	context.uc_mcontext.gregs[REG_RCX] = ip;
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
	struct code code = code_of(SYS_poll);
	uintptr_t ip = (uintptr_t)(code.bytes + code.length);

	(void)state;
	assert_int_equal(restart_number(SYS_restart_syscall, ip, 0), SYS_poll);
	assert_int_equal(restart_number(SYS_futex, ip, 0), SYS_futex);
	assert_int_equal(restart_number(-1, ip, 0), -1);
	assert_int_equal(restart_number(SYS_restart_syscall, ip - 1, 0),
			 SYS_restart_syscall);
}

/* The time in our handler is time that passed, too. */
static void
what_remains_becomes_less(void **state)
{
	struct code code = code_of(SYS_ppoll);
	ucontext_t context = interrupted(&code);
	struct timespec remaining = { 100, 500 };
	uint64_t now_ns = sys_clock_ns(CLOCK_MONOTONIC);

	(void)state;
	context.uc_mcontext.gregs[REG_RDX] = (greg_t)(uintptr_t)&remaining;
	assert_true(restart_call(&context, now_ns - 20000000000));
	assert_rerun(&context, &code, SYS_ppoll);
	assert_true(remaining.tv_sec >= 40 && remaining.tv_sec < 80);
	assert_true(remaining.tv_nsec >= 0 && remaining.tv_nsec < 1000000000);
	context = interrupted(&code);
	context.uc_mcontext.gregs[REG_RDX] = (greg_t)(uintptr_t)&remaining;
	assert_true(restart_call(&context, now_ns - 200000000000));
	assert_int_equal(remaining.tv_sec, 0);
	assert_int_equal(remaining.tv_nsec, 0);
	/* Where nothing can be written, nothing was. */
	context = interrupted(&code);
	context.uc_mcontext.gregs[REG_RDX] = 64;
	assert_false(restart_call(&context, now_ns));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_endless_call_is_made_again),
		cmocka_unit_test(a_finite_call_keeps_its_result),
		cmocka_unit_test(a_call_that_ended_otherwise_is_left_alone),
		cmocka_unit_test(minus_four_in_plain_code_is_left_alone),
		cmocka_unit_test(an_instruction_may_stand_between),
		cmocka_unit_test(
			a_number_that_is_not_in_the_code_is_not_guessed),
		cmocka_unit_test(code_that_cannot_be_read_is_not),
		cmocka_unit_test(a_sleep_goes_on_with_what_remains),
		cmocka_unit_test(close_and_connect_are_never_made_again),
		cmocka_unit_test(a_part_is_left_alone),
		cmocka_unit_test(a_pending_signal_wants_the_result),
		cmocka_unit_test(other_code_is_no_restart),
		cmocka_unit_test(a_restart_is_as_if_interrupted),
		cmocka_unit_test(the_number_is_the_calls_own),
		cmocka_unit_test(what_remains_becomes_less),
		cmocka_unit_test(the_table),
	};

	return CHECK_RUN(tests);
}
