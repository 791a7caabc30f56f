/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repeat_test.c - calls made again after a handler return what they would have
 * returned, whatever comes in between.
 *
 * The handler under test is that of SIGUSR1; SIGUSR2 is the host's.
 */
/* LINK: repeat restart restart_table call_number transfer descriptor resume log config sys */
/* LIBS: -pthread */
#include "repeat.h"

#include <arpa/inet.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "restart.h"
#include "sys.h"
#include "transfer.h"

#define FIRST_MS 20
#define TIMEOUT_MS 60
/* More than two pipes hold. */
#define BYTES 150000

extern const char arch_repeat[], arch_repeat_ended[], arch_repeat_jump[];

static atomic_int handled, host_handled, repeated, inside;
static atomic_bool leave;
static sigjmp_buf left;

static bool
is_inside(uintptr_t ip)
{
	return ip >= (uintptr_t)arch_repeat && ip <= (uintptr_t)arch_repeat_jump;
}

static void
on_ours(int nr, siginfo_t *info, void *argument)
{
	ucontext_t *context = argument;
	uint64_t begin_ns = restart_begin(context);

	(void)nr;
	handled++;
	inside += is_inside((uintptr_t)context->uc_mcontext.gregs[REG_RIP]);
	if (restart_call(context, info, begin_ns))
		repeated++;
}

static void
on_hosts(int nr)
{
	(void)nr;
	host_handled++;
	if (leave)
		siglongjmp(left, 1);
}

static int
prepare(void **state)
{
	struct sigaction ours = { .sa_sigaction = on_ours,
				  .sa_flags = SA_SIGINFO | SA_RESTART |
					      SA_ONSTACK };
	struct sigaction hosts = { .sa_handler = on_hosts };

	(void)state;
	sigfillset(&ours.sa_mask);
	sigaction(SIGUSR1, &ours, NULL);
	sigaction(SIGUSR2, &hosts, NULL);
	signal(SIGPIPE, SIG_IGN);
	handled = host_handled = repeated = inside = 0;
	leave = false;
	return 0;
}

/* --- what happens while the main thread waits */

static int ends[2];
static unsigned char bytes[BYTES], received[BYTES];
static size_t received_bytes;

struct plan {
	pthread_t thread, target;
	int signals;
	int last; /* a signal that comes after ours; 0: none */
	void (*then)(void);
};

static void *
act(void *argument)
{
	struct plan *plan = argument;

	for (int i = 0; i < plan->signals; i++) {
		sys_sleep_ns(FIRST_MS * UINT64_C(1000000));
		pthread_kill(plan->target, SIGUSR1);
	}
	sys_sleep_ns(FIRST_MS * UINT64_C(1000000));
	if (plan->last != 0)
		pthread_kill(plan->target, plan->last);
	if (plan->then != NULL)
		plan->then();
	return NULL;
}

static void
begin(struct plan *plan)
{
	plan->target = pthread_self();
	pthread_create(&plan->thread, NULL, act, plan);
}

static void
end(struct plan *plan)
{
	pthread_join(plan->thread, NULL);
}

static void
read_some(size_t limit)
{
	while (received_bytes < limit) {
		ssize_t r = recv(ends[0], received + received_bytes,
				 limit - received_bytes, 0);

		if (r < 0 && errno == ENOTSOCK)
			r = read(ends[0], received + received_bytes,
				 limit - received_bytes);
		if (r <= 0)
			return;
		received_bytes += (size_t)r;
	}
}

static void
read_all(void)
{
	read_some(BYTES);
}

static void
write_all(void)
{
	for (size_t at = 0; at < BYTES; at += 1000)
		assert_int_equal(write(ends[1], bytes + at, 1000), 1000);
}

static void
close_reader(void)
{
	close(ends[0]);
}

static void
make_stream(bool is_socket)
{
	const int room = 20000;

	if (is_socket) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	} else {
		assert_int_equal(pipe(ends), 0);
	}
	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (unsigned char)(i * 31 + i / 251);
	memset(received, 0, sizeof(received));
	received_bytes = 0;
}

static void
close_stream(void)
{
	close(ends[0]);
	close(ends[1]);
}

static void
assert_received(size_t count)
{
	assert_int_equal(received_bytes, count);
	assert_memory_equal(received, bytes, count);
}

/* --- connect */

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

static void
connect_says_that_it_goes_on(void **state)
{
	struct plan plan = { .signals = 3 };
	struct sockaddr_in address;
	int listener = deaf_listener(&address), fd = timed_socket();

	(void)state;
	begin(&plan);
	assert_int_equal(connect_to(fd, &address), EINPROGRESS);
	end(&plan);
	assert_int_equal(repeated, 3);
	/* Without us the second says so. */
	assert_int_equal(connect_to(fd, &address), EALREADY);
	close(fd);
	close(listener);
}

static void
a_signal_of_the_host_ends_connect(void **state)
{
	struct plan plan = { .signals = 1, .last = SIGUSR2 };
	struct sockaddr_in address;
	int listener = deaf_listener(&address), fd = timed_socket();

	(void)state;
	begin(&plan);
	assert_int_equal(connect_to(fd, &address), EINTR);
	end(&plan);
	assert_int_equal(repeated, 1);
	assert_int_equal(host_handled, 1);
	close(fd);
	close(listener);
}

static void
a_handler_may_jump_out_of_it(void **state)
{
	struct plan plan = { .signals = 1, .last = SIGUSR2 };
	struct sockaddr_in address;
	int listener = deaf_listener(&address), fd = timed_socket();

	(void)state;
	leave = true;
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

/* --- transfers */

static void
writes_whole(bool is_socket)
{
	struct plan plan = { .signals = 3, .then = read_all };

	make_stream(is_socket);
	begin(&plan);
	assert_int_equal(write(ends[1], bytes, BYTES), BYTES);
	end(&plan);
	assert_received(BYTES);
	/* The other signals found a call that had done nothing yet, which the
	 * kernel makes again. */
	assert_int_equal(repeated, 1);
	close_stream();
}

static void
a_write_to_a_pipe_is_whole(void **state)
{
	(void)state;
	writes_whole(false);
}

static void
a_write_to_a_socket_is_whole(void **state)
{
	(void)state;
	writes_whole(true);
}

/* Each part is followed by a signal. */
static void
read_with_signals(void)
{
	for (size_t limit = 30000; limit <= BYTES; limit += 30000) {
		read_some(limit);
		sys_sleep_ns(FIRST_MS * UINT64_C(1000000));
		kill(getpid(), SIGUSR1);
	}
}

static void
part_after_part(void **state)
{
	struct plan plan = { .signals = 1, .then = read_with_signals };
	sigset_t set;

	(void)state;
	make_stream(true);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	/* kill() is for the main thread. */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	begin(&plan);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	assert_int_equal(send(ends[1], bytes, BYTES, 0), BYTES);
	end(&plan);
	assert_received(BYTES);
	assert_true(repeated >= 2);
	close_stream();
}

static void
a_receipt_of_all_is_whole(void **state)
{
	struct plan plan = { .signals = 2, .then = write_all };

	(void)state;
	make_stream(true);
	assert_int_equal(write(ends[1], bytes, 500), 500);
	begin(&plan);
	assert_int_equal(recv(ends[0], received, BYTES, MSG_WAITALL), BYTES);
	end(&plan);
	assert_memory_equal(received, bytes, 500);
	assert_memory_equal(received + 500, bytes, BYTES - 500);
	assert_int_equal(repeated, 1);
	close_stream();
}

static void
a_file_is_sent_whole(void **state)
{
	struct plan plan = { .signals = 2, .then = read_all };
	int file = memfd_create("repeat", 0);
	off_t offset = 0;

	(void)state;
	make_stream(true);
	assert_int_equal(write(file, bytes, BYTES), BYTES);
	begin(&plan);
	assert_int_equal(sendfile(ends[1], file, &offset, BYTES), BYTES);
	end(&plan);
	assert_received(BYTES);
	assert_int_equal(offset, BYTES);
	assert_int_equal(repeated, 1);
	close(file);
	close_stream();
}

/* An error that comes after a part is for the next call to say. */
static void
an_error_leaves_the_part(void **state)
{
	struct plan plan = { .signals = 1, .then = close_reader };
	ssize_t r;

	(void)state;
	make_stream(false);
	begin(&plan);
	r = write(ends[1], bytes, BYTES);
	end(&plan);
	assert_int_equal(r, 65536);
	assert_int_equal(repeated, 1);
	close(ends[1]);
}

static void
a_signal_of_the_host_leaves_the_part(void **state)
{
	struct plan plan = { .signals = 1, .last = SIGUSR2 };

	(void)state;
	make_stream(false);
	begin(&plan);
	assert_int_equal(write(ends[1], bytes, BYTES), 65536);
	end(&plan);
	assert_int_equal(repeated, 1);
	assert_int_equal(host_handled, 1);
	read_some(65536);
	assert_received(65536);
	close_stream();
}

/* A datagram ends where it ends; and what waits for no more than there is. */
static void
what_is_no_part(void **state)
{
	const long other[] = { SYS_read, SYS_recvmsg, SYS_pwrite64 };
	uint64_t arguments[6] = { 0, 0, 100, MSG_WAITALL };
	int pair[2];

	(void)state;
	make_stream(true);
	arguments[0] = (uint64_t)ends[0];
	assert_true(transfer_is_part(getpid(), SYS_recvfrom, arguments, 10));
	assert_false(transfer_is_part(getpid(), SYS_recvfrom, arguments, 100));
	assert_false(transfer_is_part(getpid(), SYS_recvfrom, arguments, 0));
	assert_false(transfer_is_part(getpid(), SYS_recvfrom, arguments, -4));
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		assert_false(transfer_is_part(getpid(), other[i], arguments,
					      10));
	arguments[3] |= MSG_PEEK;
	assert_false(transfer_is_part(getpid(), SYS_recvfrom, arguments, 10));
	arguments[3] = 0;
	assert_false(transfer_is_part(getpid(), SYS_recvfrom, arguments, 10));
	close_stream();
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	arguments[0] = (uint64_t)pair[0];
	arguments[3] = MSG_WAITALL;
	assert_false(transfer_is_part(getpid(), SYS_recvfrom, arguments, 10));
	close(pair[0]);
	close(pair[1]);
	assert_false(transfer_is_part(getpid(), SYS_recvfrom, arguments, 10));
}

static bool
is_part_of(const char *path, int flags, long nr)
{
	int fd = open(path, flags);
	const uint64_t arguments[6] = { (uint64_t)fd, 0, 100 };
	bool is_part = transfer_is_part(getpid(), nr, arguments, 10);

	assert_true(fd >= 0);
	close(fd);
	return is_part;
}

static void
which_files_have_a_rest(void **state)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);

	(void)state;
	assert_true(terminal >= 0 && grantpt(terminal) == 0 &&
		    unlockpt(terminal) == 0);
	assert_true(is_part_of(ptsname(terminal), O_RDWR | O_NOCTTY,
			       SYS_write));
	close(terminal);
	assert_true(is_part_of("/dev/zero", O_RDONLY, SYS_read));
	assert_true(is_part_of("/dev/urandom", O_RDONLY, SYS_read));
	assert_false(is_part_of("/proc/self/exe", O_RDONLY, SYS_read));
	assert_false(is_part_of("/dev/ptmx", O_RDWR, SYS_read));
	assert_false(is_part_of("/proc/self/comm", O_WRONLY, SYS_write));
	assert_false(is_part_of("/dev/null", O_WRONLY, SYS_write));
}

/* The registers that a system call does not change. */
static void
all_registers_are_kept(void **state)
{
	struct plan plan = { .signals = 2, .then = read_all };
	uint64_t in[3], out[3], low[2], flags;
	long result;

	(void)state;
	make_stream(true);
	in[0] = (uint64_t)(uintptr_t)bytes;
	in[1] = BYTES;
	in[2] = MSG_NOSIGNAL;
	begin(&plan);
	__asm__ volatile("mov $0, %%r8d\n\t"
			 "mov $0, %%r9d\n\t"
			 "movq 0(%[in]), %%rsi\n\t"
			 "movq 8(%[in]), %%rdx\n\t"
			 "movq 16(%[in]), %%r10\n\t"
			 "movq $77, -16(%%rsp)\n\t" /* the red zone */
			 "movq $78, -128(%%rsp)\n\t"
			 /* Overflow and sign, neither carry nor zero. */
			 "mov $127, %%al\n\t"
			 "add $1, %%al\n\t"
			 "mov $44, %%eax\n\t"
			 "syscall\n\t"
			 "movq %%rsi, 0(%[out])\n\t"
			 "movq %%rdx, 8(%[out])\n\t"
			 "movq %%r10, 16(%[out])\n\t"
			 "movq -16(%%rsp), %%r8\n\t"
			 "movq %%r8, 0(%[low])\n\t"
			 "movq -128(%%rsp), %%r8\n\t"
			 "movq %%r8, 8(%[low])\n\t"
			 "pushfq\n\t"
			 "popq %[flags]\n\t"
			 : "=&a"(result), [flags] "=&r"(flags)
			 : "D"((long)ends[1]), [in] "r"(in), [out] "r"(out),
			   [low] "r"(low)
			 : "rcx", "r11", "rsi", "rdx", "r10", "r8", "r9",
			   "memory");
	end(&plan);
	assert_int_equal(result, BYTES);
	assert_memory_equal(in, out, sizeof(in));
	assert_int_equal(low[0], 77);
	assert_int_equal(low[1], 78);
	assert_int_equal(flags & 0x8d5, 0x890);
	assert_int_equal(repeated, 1);
	assert_received(BYTES);
	close_stream();
}

/* The handlers run on it, and it is free while the thread waits. */
static void
an_alternate_stack_is_left(void **state)
{
	stack_t stack = { .ss_sp = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			  .ss_size = 65536 };
	const stack_t none = { .ss_flags = SS_DISABLE };

	assert_int_equal(sigaltstack(&stack, NULL), 0);
	connect_says_that_it_goes_on(state);
	handled = repeated = 0;
	all_registers_are_kept(state);
	assert_int_equal(sigaltstack(&none, NULL), 0);
	munmap(stack.ss_sp, stack.ss_size);
}

/* --- a signal before each instruction */

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

	if (!is_inside(ip)) {
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
	struct sockaddr_in address;
	int listener = deaf_listener(&address), fd = timed_socket();
	int error = connect_to(fd, &address);

	close(listener);
	return error == EINPROGRESS ? 0 : 4;
}

static void
traced_child(void)
{
	struct sigaction ours = { .sa_sigaction = on_ours_checked,
				  .sa_flags = SA_SIGINFO | SA_RESTART };
	void *frame;

	sigfillset(&ours.sa_mask);
	sigaction(SIGUSR1, &ours, NULL);
	(void)backtrace(&frame, 1); /* loads the unwinder */
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	_exit(traced_connect() | astray);
}

/* Steps to the instruction number `at` of ours: its ip, 0 if it ended. */
static uintptr_t
step_to(pid_t pid, int at)
{
	struct user_regs_struct regs;
	int status, seen = 0;

	for (;;) {
		ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return 0;
		ptrace(PTRACE_GETREGS, pid, NULL, &regs);
		if (is_inside(regs.rip) && seen++ == at)
			return regs.rip;
	}
}

/* The child's status after a signal at that instruction. */
static int
interrupted_at(int at, bool *was_jump)
{
	pid_t pid = fork();
	uintptr_t ip;
	int status;

	if (pid == 0)
		traced_child();
	waitpid(pid, &status, 0);
	/* Into the call, and a signal from there. */
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	sys_sleep_ns(FIRST_MS * UINT64_C(1000000));
	kill(pid, SIGUSR1);
	waitpid(pid, &status, 0);
	ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(long)SIGUSR1);
	waitpid(pid, &status, 0);
	ip = step_to(pid, at);
	*was_jump = ip == (uintptr_t)arch_repeat_jump;
	/* Handed over once; while it is blocked it stops the child again. */
	ptrace(PTRACE_CONT, pid, NULL, (void *)(long)SIGUSR1);
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, NULL, (void *)(long)WSTOPSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static void
a_signal_before_each_instruction(void **state)
{
	bool was_jump = false;
	int at;

	(void)state;
	for (at = 0; !was_jump && at < 100; at++)
		assert_int_equal(interrupted_at(at, &was_jump), 0);
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
		TEST(a_write_to_a_pipe_is_whole),
		TEST(a_write_to_a_socket_is_whole),
		TEST(part_after_part),
		TEST(a_receipt_of_all_is_whole),
		TEST(a_file_is_sent_whole),
		TEST(an_error_leaves_the_part),
		TEST(a_signal_of_the_host_leaves_the_part),
		TEST(what_is_no_part),
		TEST(which_files_have_a_rest),
		TEST(all_registers_are_kept),
		TEST(an_alternate_stack_is_left),
		TEST(a_signal_before_each_instruction),
		TEST(a_thread_in_our_code_is_seen_in_its_own),
		TEST(without_memory_nothing_is_changed),
	};

	return CHECK_RUN(tests);
}
