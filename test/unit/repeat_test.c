/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repeat_test.c - a call that goes on in our code returns what it would have,
 * whatever comes in between, and its thread is found where it made the call.
 */
/* LINK: repeat restart restart_table call_number transfer */
/* LINK: descriptor resume log config sys */
/* LIBS: -pthread */
#include "repeat.h"

#include <arpa/inet.h>
#include <errno.h>
#include <execinfo.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "restarting.h"

/* Signals come meanwhile. */
#define TIMEOUT_MS 300

extern const char arch_repeat[], arch_repeat_ended[], arch_repeat_jump[];

/* The listener's queue is full: it answers no more. */
static int
deaf_listener(struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int first = socket(AF_INET, SOCK_STREAM, 0);

	*address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	assert_int_equal(bind(listener, (void *)address, size), 0);
	assert_int_equal(listen(listener, 0), 0);
	assert_int_equal(getsockname(listener, (void *)address, &size), 0);
	assert_int_equal(connect(first, (void *)address, size), 0);
	return listener;
}

static int
timed_socket(void)
{
	struct timeval timeout = { 0, TIMEOUT_MS * 1000 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	return fd;
}

/* Not inlined: the stacks below are to name it. */
static __attribute__((noinline)) int
connect_to(int fd, const struct sockaddr_in *address)
{
	int r = connect(fd, (const void *)address, sizeof(*address));

	return r < 0 ? errno : r;
}

/* The error of a connect() during the plan, and that of a second one. */
static int
connect_during(struct plan *plan, int *second)
{
	struct sockaddr_in address;
	int listener = deaf_listener(&address), fd = timed_socket();
	int error;

	begin(plan);
	error = connect_to(fd, &address);
	end(plan);
	*second = connect_to(fd, &address);
	close(fd);
	close(listener);
	return error;
}

static void
connect_says_that_it_goes_on(void **state)
{
	struct plan plan = { .count = 3 };
	int second;

	(void)state;
	assert_int_equal(connect_during(&plan, &second), EINPROGRESS);
	assert_int_equal(repeated, 3);
	/* As it says without us. */
	assert_int_equal(second, EALREADY);
}

static void
a_signal_of_the_host_ends_connect(void **state)
{
	struct plan plan = { .count = 1, .last = SIGUSR2 };
	int second;

	(void)state;
	assert_int_equal(connect_during(&plan, &second), EINTR);
	assert_int_equal(repeated, 1);
	assert_int_equal(host_handled, 1);
}

static sigjmp_buf left;

static void
leave(int nr)
{
	(void)nr;
	siglongjmp(left, 1);
}

static void
a_handler_may_jump_out_of_it(void **state)
{
	struct plan plan = { .count = 1, .last = SIGUSR2 };
	struct sockaddr_in address;
	int listener = deaf_listener(&address), fd = timed_socket();

	(void)state;
	signal(SIGUSR2, leave);
	begin(&plan);
	if (sigsetjmp(left, 1) == 0) {
		(void)connect_to(fd, &address);
		fail();
	}
	end(&plan);
	assert_int_equal(repeated, 1);
	close(fd);
	close(listener);
}

static void
with_an_alternate_stack(void **state)
{
	on_alternate_stack(connect_says_that_it_goes_on, state);
}

/* --- a signal before each instruction */

static struct range
our_code(void)
{
	return (struct range){ (uintptr_t)arch_repeat,
			       (uintptr_t)arch_repeat_jump };
}

static atomic_int astray; /* bits: what a handler found wrong */
static uintptr_t expected_ip, expected_sp;

/* True if the unwinder of the compiler's runtime finds its way. */
static bool
leads_to(const void *function, size_t size_bytes)
{
	void *frames[16];
	int count = backtrace(frames, 16);

	for (int i = 0; i < count; i++)
		if ((uintptr_t)frames[i] - (uintptr_t)function < size_bytes)
			return true;
	return false;
}

static void
on_ours_checked(int nr, siginfo_t *info, void *argument)
{
	const ucontext_t *context = argument;
	struct unwind_registers registers = restart_registers(context);
	uintptr_t ip = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];

	if (!range_holds(our_code(), ip)) {
		expected_ip = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
		expected_sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
	} else {
		if (registers.ip != expected_ip || registers.sp != expected_sp)
			astray |= 1;
		if (!leads_to((const void *)connect_to, 128))
			astray |= 2;
	}
	on_ours(nr, info, argument);
}

static int
traced_connect(void)
{
	struct sigaction ours = { .sa_sigaction = on_ours_checked,
				  .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sockaddr_in address;
	int listener = deaf_listener(&address), fd = timed_socket();
	int error;

	sigfillset(&ours.sa_mask);
	sigaction(SIGUSR1, &ours, NULL);
	error = connect_to(fd, &address);
	close(listener);
	return (error == EINPROGRESS ? 0 : 4) | astray;
}

static void
a_signal_before_each_instruction(void **state)
{
	bool was_jump = false;
	void *frame;
	int at;

	(void)state;
	(void)backtrace(&frame, 1); /* loads the unwinder */
	for (at = 0; !was_jump && at < 100; at++)
		assert_int_equal(interrupted_at(traced_connect, our_code(), at,
						&was_jump),
				 0);
	/* load, call, load, branch, compare, branch, set, two loads, jump */
	assert_int_equal(at, 10);
}

/* --- what is found of a thread in our code */

static void
a_thread_in_our_code_is_seen_in_its_own(void **state)
{
	uint64_t block[REPEAT_BLOCK_BYTES / 8] = { 4711, 4712, SYS_sendto };
	struct unwind_registers registers = {
		.ip = (uintptr_t)arch_repeat_ended,
		.sp = (uintptr_t)block,
	};

	(void)state;
	assert_int_equal(repeat_number(registers.ip, registers.sp), SYS_sendto);
	assert_int_equal(repeat_number(registers.ip + 1, registers.sp), -1);
	repeat_registers(&registers, 0);
	assert_int_equal(registers.ip, 4711);
	assert_int_equal(registers.sp, 4712);
	registers.ip = (uintptr_t)arch_repeat_jump;
	repeat_registers(&registers, 4713);
	assert_int_equal(registers.ip, 4713);
	assert_int_equal(registers.sp, 4712);
}

static void
without_memory_nothing_is_changed(void **state)
{
	struct arch_call call = { .ip = 1, .sp = 2, .result = -EINTR };

	(void)state;
	assert_false(repeat_call(&call, SYS_connect, 64));
	assert_int_equal(call.ip, 1);
	assert_int_equal(call.sp, 2);
}

#define TEST(name) cmocka_unit_test_setup(name, prepare)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(connect_says_that_it_goes_on),
		TEST(a_signal_of_the_host_ends_connect),
		TEST(a_handler_may_jump_out_of_it),
		TEST(with_an_alternate_stack),
		TEST(a_signal_before_each_instruction),
		TEST(a_thread_in_our_code_is_seen_in_its_own),
		TEST(without_memory_nothing_is_changed),
	};

	return CHECK_RUN(tests);
}
