/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking_transfers.h - calls of eintr.c that block after a part of what they
 * were to do. Transfers return the whole, or 1 for any part of it.
 */
#ifndef HEAPAGENT_TEST_BLOCKING_TRANSFERS_H
#define HEAPAGENT_TEST_BLOCKING_TRANSFERS_H

#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <termios.h>

#include "blocking_files.h"

/* More than a pipe or a socket takes by itself. */
#define TRANSFER_BYTES 1000000
#define FIRST_BYTES 500

static char transferred[TRANSFER_BYTES];
static int reader, writer;

/* The other end reads until the call's is closed. */
static void
wake_reader(void)
{
	static char bytes[65536];

	while (read(reader, bytes, sizeof(bytes)) > 0)
		;
	close(reader);
}

static void
wake_writer(void)
{
	for (size_t at = FIRST_BYTES; at < TRANSFER_BYTES; at += FIRST_BYTES)
		if (send(writer, transferred, FIRST_BYTES, MSG_NOSIGNAL) < 0)
			break;
	close(writer);
}

static void
open_transfer(bool is_pipe)
{
	int pair[2];

	if ((is_pipe ? pipe(pair)
		     : socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) != 0)
		abort();
	reader = pair[0];
	writer = pair[1];
}

/* The result of a call that has returned, and whose end is closed. */
static long
transfer(int end, long r)
{
	int error = errno;

	close(end);
	errno = error;
	return r > 0 && r < TRANSFER_BYTES ? 1 : r;
}

static long
call_large_pipe_write(void)
{
	open_transfer(true);
	return transfer(writer, write(writer, transferred, TRANSFER_BYTES));
}

static long
call_large_write(void)
{
	open_transfer(false);
	return transfer(writer, write(writer, transferred, TRANSFER_BYTES));
}

static long
call_large_send(void)
{
	open_transfer(false);
	return transfer(writer, send(writer, transferred, TRANSFER_BYTES, 0));
}

/* The whole in two buffers. */
static struct iovec *
buffers(void)
{
	static struct iovec parts[2];

	parts[0] = (struct iovec){ transferred, FIRST_BYTES };
	parts[1] = (struct iovec){ transferred + FIRST_BYTES,
				   TRANSFER_BYTES - FIRST_BYTES };
	return parts;
}

static long
call_large_writev(void)
{
	open_transfer(true);
	return transfer(writer, writev(writer, buffers(), 2));
}

static long
call_large_sendmsg(void)
{
	struct msghdr message = { .msg_iov = buffers(), .msg_iovlen = 2 };

	open_transfer(false);
	return transfer(writer, sendmsg(writer, &message, 0));
}

static long
call_large_sendfile(void)
{
	int file = memfd_create("eintr", 0);
	long r;

	if (write(file, transferred, TRANSFER_BYTES) != TRANSFER_BYTES ||
	    lseek(file, 0, SEEK_SET) != 0)
		abort();
	open_transfer(false);
	r = sendfile(writer, file, NULL, TRANSFER_BYTES);
	close(file);
	return transfer(writer, r);
}

static void
send_first(void)
{
	open_transfer(false);
	if (send(writer, transferred, FIRST_BYTES, 0) != FIRST_BYTES)
		abort();
}

static long
call_recv_all(void)
{
	send_first();
	return transfer(reader,
			recv(reader, transferred, TRANSFER_BYTES, MSG_WAITALL));
}

static long
call_recvmsg_all(void)
{
	struct msghdr message = { .msg_iov = buffers(), .msg_iovlen = 2 };

	send_first();
	return transfer(reader, recvmsg(reader, &message, MSG_WAITALL));
}

static int terminal; /* its master */

static void
wake_terminal(void)
{
	if (write(terminal, "x", 1) != 1)
		abort();
}

/* One byte is there, and two are waited for. */
static long
call_terminal_read(void)
{
	char bytes[2];
	struct termios mode;
	int fd;

	terminal = posix_openpt(O_RDWR | O_NOCTTY);
	if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
		abort();
	fd = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	if (tcgetattr(fd, &mode) != 0)
		abort();
	cfmakeraw(&mode);
	mode.c_cc[VMIN] = 2;
	tcsetattr(fd, TCSANOW, &mode);
	wake_terminal();
	return closing(terminal, closing(fd, read(fd, bytes, 2)));
}

/* One event is there, the other comes when it is woken. */
static long
call_two_events(void)
{
	struct io_event events[2];
	long r;

	aio = 0;
	if (syscall(SYS_io_setup, 2, &aio) != 0)
		abort();
	wake_aio();
	r = syscall(SYS_io_getevents, aio, 2, 2, events, NULL);
	syscall(SYS_io_destroy, aio);
	return r;
}

/* A request to poll a descriptor, submitted and waited for at once. */
static long
call_uring_submits(void)
{
	struct io_uring_params params = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 1, &params);
	size_t ring_bytes = params.sq_off.array + sizeof(uint32_t);
	int rw = PROT_READ | PROT_WRITE;
	char *ring =
		mmap(NULL, ring_bytes, rw, MAP_SHARED, fd, IORING_OFF_SQ_RING);
	struct io_uring_sqe *entry =
		mmap(NULL, sizeof(*entry), rw, MAP_SHARED, fd, IORING_OFF_SQES);
	long r = -1;

	blocked_fd = eventfd(0, 0);
	if (fd >= 0 && ring != MAP_FAILED && entry != MAP_FAILED) {
		*entry = (struct io_uring_sqe){ .opcode = IORING_OP_POLL_ADD,
						.fd = blocked_fd,
						.poll32_events = POLLIN };
		*(uint32_t *)(ring + params.sq_off.array) = 0;
		__atomic_store_n((uint32_t *)(ring + params.sq_off.tail), 1,
				 __ATOMIC_RELEASE);
		r = syscall(SYS_io_uring_enter, fd, 1, 1,
			    IORING_ENTER_GETEVENTS, NULL, 0);
		munmap(ring, ring_bytes);
		munmap(entry, sizeof(*entry));
	}
	return closing(blocked_fd, closing(fd, r));
}

/* The peer takes no more: what is not sent is waited for a second. */
static long
call_close_lingers(void)
{
	struct sockaddr_in address = listen_here();
	struct linger linger = { .l_onoff = 1, .l_linger = 1 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		abort();
	while (send(fd, transferred, sizeof(transferred), MSG_DONTWAIT) > 0)
		;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	return closing(listener, close(fd));
}

#endif
