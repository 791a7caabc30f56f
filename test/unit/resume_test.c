/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume_test.c - calls go on after a handler, whatever comes in between.
 *
 * The handler under test is that of SIGUSR1; SIGUSR2 is the host's.
 */
/* LINK: resume config log sys */
/* LIBS: -pthread */
#include "resume.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "resuming.h"
#include "sys.h"

#define WAIT_MS 150

static int64_t
now_ms(void)
{
	return (int64_t)(sys_clock_ns(CLOCK_MONOTONIC) / 1000000);
}

static void
assert_waited(int64_t start_ms)
{
	/* Whole milliseconds of two clock readings: one may be lost. */
	assert_true(now_ms() - start_ms >= WAIT_MS - 1);
}

static void
poll_ends_at_its_time(void **state)
{
	struct plan plan = { .count = 10 };
	int64_t start_ms = now_ms();

	(void)state;
	begin(&plan);
	assert_int_equal(poll(NULL, 0, WAIT_MS), 0);
	end(&plan);
	assert_waited(start_ms);
	assert_true(handled > 0);
}

static void
an_endless_poll_goes_on(void **state)
{
	struct plan plan = { .count = 5, .last = SIGUSR2 };

	(void)state;
	begin(&plan);
	assert_int_equal(poll(NULL, 0, -1), -1);
	assert_int_equal(errno, EINTR);
	end(&plan);
	assert_int_equal(host_handled, 1);
	assert_true(handled > 0);
}

static void
sleeps_end_at_their_time(void **state)
{
	const struct timespec ts = { 0, WAIT_MS * 1000000 };
	struct timespec rest = { 7, 7 };
	struct plan plan = { .count = 10 };
	int64_t start_ms = now_ms();

	(void)state;
	begin(&plan);
	assert_int_equal(nanosleep(&ts, NULL), 0);
	end(&plan);
	assert_waited(start_ms);
	start_ms = now_ms();
	begin(&plan);
	assert_int_equal(clock_nanosleep(CLOCK_REALTIME, 0, &ts, &rest), 0);
	end(&plan);
	assert_waited(start_ms);
	assert_true(handled > 1);
}

static void
a_futex_ends_at_its_time(void **state)
{
	const struct timespec ts = { 0, WAIT_MS * 1000000 };
	struct plan plan = { .count = 10 };
	int64_t start_ms = now_ms();
	uint32_t word = 0;

	(void)state;
	begin(&plan);
	/* 128: private; operation 0: wait */
	assert_int_equal(sys_call4(SYS_futex, &word, 128, 0, &ts), -ETIMEDOUT);
	end(&plan);
	assert_waited(start_ms);
	assert_true(handled > 0);
}

static void
the_hosts_own_signal_ends_the_call(void **state)
{
	struct plan plan = { .count = 10, .last = SIGUSR2 };
	int64_t start_ms = now_ms();

	(void)state;
	begin(&plan);
	assert_int_equal(poll(NULL, 0, 60000), -1);
	assert_int_equal(errno, EINTR);
	end(&plan);
	assert_int_equal(host_handled, 1);
	assert_true(now_ms() - start_ms < 30000);
}

/* One that waits to be unblocked is found at the end of the first's handler. */
static void
a_second_signal_in_the_end_of_the_first(void **state)
{
	struct plan plan = { .count = 1 };
	int64_t start_ms = now_ms();

	(void)state;
	raise_again = 50;
	begin(&plan);
	assert_int_equal(poll(NULL, 0, WAIT_MS), 0);
	end(&plan);
	assert_waited(start_ms);
	assert_int_equal(handled, 51);
	assert_int_equal(inside, 50);
}

static void
a_storm_leaves_the_stack_as_it_is(void **state)
{
	struct plan plan = { .count = 1000000, .is_storm = true };
	int64_t start_ms = now_ms();

	(void)state;
	begin(&plan);
	assert_int_equal(poll(NULL, 0, WAIT_MS), 0);
	assert_waited(start_ms);
	end(&plan);
	assert_true(handled > 10);
	/* A signal frame and our handler's are some 4 KiB, with AMX 12. */
	assert_true((uintptr_t)&plan - lowest_sp < 32768);
}

static void
the_mask_is_the_hosts_again(void **state)
{
	struct plan plan = { .count = 3 };
	sigset_t mask, now;

	(void)state;
	sigemptyset(&mask);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	begin(&plan);
	assert_int_equal(poll(NULL, 0, WAIT_MS), 0);
	end(&plan);
	sigemptyset(&mask);
	sigprocmask(SIG_SETMASK, &mask, &now);
	sigaddset(&mask, SIGHUP);
	assert_memory_equal(&mask, &now, 8);
	assert_true(handled > 0);
}

/* The handlers run on it, and it is free while the thread waits. */
static void
an_alternate_stack_is_left(void **state)
{
	struct plan plan = { .count = 10 };
	stack_t stack = { .ss_sp = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			  .ss_size = 65536 };
	const stack_t none = { .ss_flags = SS_DISABLE };
	int64_t start_ms = now_ms();
	stack_t now;

	(void)state;
	assert_int_equal(sigaltstack(&stack, NULL), 0);
	begin(&plan);
	assert_int_equal(poll(NULL, 0, WAIT_MS), 0);
	end(&plan);
	assert_waited(start_ms);
	assert_int_equal(sigaltstack(NULL, &now), 0);
	assert_int_equal(now.ss_flags & SS_ONSTACK, 0);
	assert_true(lowest_sp >= (uintptr_t)stack.ss_sp &&
		    lowest_sp < (uintptr_t)stack.ss_sp + stack.ss_size);
	assert_int_equal(sigaltstack(&none, NULL), 0);
	munmap(stack.ss_sp, stack.ss_size);
}

/* The kernel would not know it again without rt_sigreturn. */
static void
one_that_disarms_itself_is_not(void **state)
{
	static char memory[65536];
	struct plan plan = { .count = 1 };
	stack_t stack = { .ss_sp = memory,
			  .ss_size = sizeof(memory),
			  .ss_flags = (int)(1U << 31) };
	const stack_t none = { .ss_flags = SS_DISABLE };

	(void)state;
	assert_int_equal(sigaltstack(&stack, NULL), 0);
	begin(&plan);
	assert_int_equal(poll(NULL, 0, WAIT_MS), -1);
	assert_int_equal(errno, EINTR);
	end(&plan);
	assert_int_equal(sigaltstack(&none, NULL), 0);
}

/* --- a signal before each instruction of the handler's end */

static int
traced_poll(void)
{
	int64_t start_ms = now_ms();

	return poll(NULL, 0, WAIT_MS) == 0 && now_ms() - start_ms >= WAIT_MS - 1
		       ? 0
		       : 1;
}

static void
a_signal_before_each_instruction(void **state)
{
	const struct range range = { (uintptr_t)arch_resume_begin,
				     (uintptr_t)arch_resume_jump };
	bool was_jump = false;
	int at;

	(void)state;
	for (at = 0; !was_jump; at++)
		assert_int_equal(interrupted_at(traced_poll, range, at,
						&was_jump),
				 0);
	assert_int_equal(at, 10);
}

#define TEST(name) cmocka_unit_test_setup(name, prepare)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(poll_ends_at_its_time),
		TEST(an_endless_poll_goes_on),
		TEST(sleeps_end_at_their_time),
		TEST(a_futex_ends_at_its_time),
		TEST(the_hosts_own_signal_ends_the_call),
		TEST(a_second_signal_in_the_end_of_the_first),
		TEST(a_storm_leaves_the_stack_as_it_is),
		TEST(the_mask_is_the_hosts_again),
		TEST(an_alternate_stack_is_left),
		TEST(one_that_disarms_itself_is_not),
		TEST(a_signal_before_each_instruction),
	};

	try_it();
	return CHECK_RUN(tests);
}
