/* SPDX-License-Identifier: Apache-2.0 */
/* transfer_test.c - transfers that a handler interrupts are whole. */
/* LINK: transfer repeat restart restart_table call_number */
/* LINK: descriptor resume log config sys */
/* LIBS: -pthread */
#include "transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "repeat.h"
#include "restarting.h"

/* More than two pipes hold. */
#define BYTES 150000

static int ends[2];
static unsigned char bytes[BYTES], received[BYTES];
static size_t received_bytes;

/* Until the limit or the end. */
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

static void
writes_whole(bool is_socket)
{
	struct plan plan = { .count = 3, .then = read_all };

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
		await_blocked(getpid());
		kill(getpid(), SIGUSR1);
	}
}

static void
part_after_part(void **state)
{
	struct plan plan = { .count = 1, .then = read_with_signals };

	(void)state;
	make_stream(true);
	begin(&plan);
	assert_int_equal(send(ends[1], bytes, BYTES, 0), BYTES);
	end(&plan);
	assert_received(BYTES);
	assert_true(repeated >= 2);
	close_stream();
}

static void
a_receipt_of_all_is_whole(void **state)
{
	struct plan plan = { .count = 2, .then = write_all };

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
	struct plan plan = { .count = 2, .then = read_all };
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
	struct plan plan = { .count = 1, .then = close_reader };
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

/* The same of a socket, which raises SIGPIPE only for a call that has sent
 * nothing. */
static void
an_error_after_a_part_raises_no_signal(void **state)
{
	struct plan plan = { .count = 1, .then = close_reader };
	ssize_t r;

	(void)state;
	make_stream(true);
	signal(SIGPIPE, on_hosts);
	begin(&plan);
	r = send(ends[1], bytes, BYTES, 0);
	end(&plan);
	assert_in_range(r, 1, BYTES - 1);
	assert_int_equal(repeated, 1);
	assert_int_equal(host_handled, 0);
	assert_int_equal(send(ends[1], bytes, 1, 0), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(host_handled, 1);
	close(ends[1]);
}

static void
a_signal_of_the_host_leaves_the_part(void **state)
{
	struct plan plan = { .count = 1, .last = SIGUSR2 };

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
		assert_false(
			transfer_is_part(getpid(), other[i], arguments, 10));
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

/* What io_uring_enter() has submitted is its result, waited for or not. */
static void
a_wait_is_a_part(void **state)
{
	const long nr = 426;
	uint64_t arguments[6] = { 0, 3, 1, 1 /* IORING_ENTER_GETEVENTS */ };

	(void)state;
	assert_true(transfer_is_part(getpid(), nr, arguments, 3));
	assert_false(transfer_is_part(getpid(), nr, arguments, 2));
	arguments[2] = 0;
	assert_false(transfer_is_part(getpid(), nr, arguments, 3));
	arguments[2] = 1;
	arguments[3] = 0;
	assert_false(transfer_is_part(getpid(), nr, arguments, 3));
	arguments[3] = 1;
	transfer_advance(nr, arguments, 3);
	assert_int_equal(arguments[1], 0);
	assert_int_equal(arguments[2], 1);
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
	(void)state;
	assert_true(is_part_of("/dev/zero", O_RDONLY, SYS_read));
	assert_true(is_part_of("/dev/urandom", O_RDONLY, SYS_read));
	assert_false(is_part_of("/proc/self/exe", O_RDONLY, SYS_read));
	assert_false(is_part_of("/dev/ptmx", O_RDWR, SYS_read));
	/* Of the same major, like /dev/kmsg. */
	assert_false(is_part_of("/dev/null", O_RDONLY, SYS_read));
	assert_true(is_part_of("/dev/null", O_WRONLY, SYS_write));
}

/* The registers that a system call does not change. */
static void
all_registers_are_kept(void **state)
{
	struct plan plan = { .count = 2, .then = read_all };
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

static void
an_alternate_stack_is_left(void **state)
{
	on_alternate_stack(all_registers_are_kept, state);
}

/* Stopped again before it has run, or when the kernel has set it back. */
static void
a_call_that_is_to_be_made_has_no_part(void **state)
{
	static const unsigned char code[] = { 0xb8, 0, 0, 0, 0, 0x0f, 0x05, 0 };
	uint64_t block[REPEAT_BLOCK_BYTES / 8 + 1];
	struct arch_call call = { .ip = (uintptr_t)code + 7,
				  .result = SYS_sendto,
				  .arguments = { 0, 1000, 100 } };

	(void)state;
	assert_true(restart_is_part(getpid(), &call, SYS_sendto));
	call.ip -= 2;
	assert_false(restart_is_part(getpid(), &call, SYS_sendto));
	call.ip += 2;
	assert_true(restart_again(&call, SYS_sendto, (uintptr_t)block));
	assert_int_equal(call.arguments[1], 1000 + SYS_sendto);
	assert_int_equal(call.arguments[2], 100 - SYS_sendto);
	assert_false(restart_is_part(getpid(), &call, SYS_sendto));
}

#define TEST(name) cmocka_unit_test_setup(name, prepare)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_write_to_a_pipe_is_whole),
		TEST(a_write_to_a_socket_is_whole),
		TEST(part_after_part),
		TEST(a_receipt_of_all_is_whole),
		TEST(a_file_is_sent_whole),
		TEST(an_error_leaves_the_part),
		TEST(an_error_after_a_part_raises_no_signal),
		TEST(a_signal_of_the_host_leaves_the_part),
		TEST(what_is_no_part),
		TEST(a_wait_is_a_part),
		TEST(which_files_have_a_rest),
		TEST(all_registers_are_kept),
		TEST(an_alternate_stack_is_left),
		TEST(a_call_that_is_to_be_made_has_no_part),
	};

	return CHECK_RUN(tests);
}
