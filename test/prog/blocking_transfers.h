/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking_transfers.h - calls of eintr.c that block after a part of what they
 * were to transfer. They return the whole, or 1 for any part of it.
 */
#ifndef HEAPAGENT_TEST_BLOCKING_TRANSFERS_H
#define HEAPAGENT_TEST_BLOCKING_TRANSFERS_H

#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#include "blocking_calls.h"

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

#endif
