/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking_files.h - more calls that eintr.c makes: on sockets, pipes, files
 * and their locks, and asynchronous input and output.
 */
#ifndef HEAPAGENT_TEST_BLOCKING_FILES_H
#define HEAPAGENT_TEST_BLOCKING_FILES_H

#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include "blocking_waits.h"

static int listener, blocked_fd;

static void
send_timeout(int fd)
{
	struct timeval tv = { 0, WAKE_MS * 1000 };

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}
static struct sockaddr_in
listen_here(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, size) != 0 ||
	    listen(listener, 0) != 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &size) != 0)
		abort();
	return address;
}
static void
wake_accept(void)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	getsockname(listener, (struct sockaddr *)&address, &size);
	connect(fd, (struct sockaddr *)&address, size);
	close(fd);
}
static long
call_accept(void)
{
	int fd;

	listen_here();
	fd = accept(listener, NULL, NULL);
	if (fd >= 0)
		close(fd);
	return closing(listener, fd >= 0);
}
/* The first connection fills the queue of the listener, which takes none. */
static long
call_connect_times_out(void)
{
	struct sockaddr_in address = listen_here();
	int first = socket(AF_INET, SOCK_STREAM, 0);
	int second = socket(AF_INET, SOCK_STREAM, 0);
	long r;

	connect(first, (struct sockaddr *)&address, sizeof(address));
	send_timeout(second);
	r = connect(second, (struct sockaddr *)&address, sizeof(address));
	return closing(second, closing(first, closing(listener, r)));
}
static long
call_recvmmsg_times_out(void)
{
	char c;
	struct iovec part = { &c, 1 };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &part,
						.msg_iovlen = 1 } };
	long r;

	receive_timeout(sockets[0], WAKE_MS);
	r = recvmmsg(sockets[0], &message, 1, 0, NULL);
	receive_timeout(sockets[0], 0);
	return r;
}
static void
empty_socket(void)
{
	static char bytes[65536];

	while (recv(sockets[1], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}
static void
fill_socket(void)
{
	static char bytes[65536];

	while (send(sockets[0], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	while (send(sockets[0], bytes, 1, MSG_DONTWAIT) > 0)
		;
}
static long
call_send(void)
{
	long r;

	fill_socket();
	r = send(sockets[0], "x", 1, 0);
	empty_socket();
	return r;
}
static long
send_times_out(long (*call)(int))
{
	const struct timeval none = { 0, 0 };
	long r;
	int error;

	fill_socket();
	send_timeout(sockets[0]);
	r = call(sockets[0]);
	error = errno;
	setsockopt(sockets[0], SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
	empty_socket();
	errno = error;
	return r;
}
static long
send_one(int fd)
{
	return send(fd, "x", 1, 0);
}
static long
write_one(int fd)
{
	return write(fd, "x", 1);
}
static long
call_send_times_out(void)
{
	return send_times_out(send_one);
}
static long
call_write_times_out(void)
{
	return send_times_out(write_one);
}
static void
empty_pipe(void)
{
	static char bytes[65536];

	if (read(ends[0], bytes, sizeof(bytes)) <= 0)
		abort();
}
static long
call_write(void)
{
	static char bytes[65536];
	long r;

	if (write(ends[1], bytes, sizeof(bytes)) != sizeof(bytes))
		abort();
	r = write(ends[1], "x", 1);
	return drained(r);
}
static void
wake_eventfd(void)
{
	eventfd_write(blocked_fd, 3);
}
static long
call_eventfd(void)
{
	eventfd_t value = 0;
	long r;

	blocked_fd = eventfd(0, 0);
	r = eventfd_read(blocked_fd, &value);
	return closing(blocked_fd, r * 10 + (long)value);
}
static long
call_waitid(void)
{
	siginfo_t info = { 0 };
	pid_t pid = fork();

	if (pid == 0) {
		nanosleep(&duration, NULL);
		_exit(7);
	}
	return waitid(P_PID, (id_t)pid, &info, WEXITED) * 100 + info.si_status;
}
/* A file that is open twice: as blocked_fd, and as what is returned. */
static int
open_twice(void)
{
	char name[] = "/tmp/heapagent-lock-XXXXXX";
	int second = mkstemp(name);

	blocked_fd = open(name, O_RDWR);
	unlink(name);
	return second;
}
static void
wake_lock(void)
{
	close(blocked_fd);
}
static long
call_flock(void)
{
	int second = open_twice();

	flock(blocked_fd, LOCK_EX);
	return closing(second, flock(second, LOCK_EX));
}
/* An open file's lock and a process's are in each other's way. */
static long
lock_region(int wanted)
{
	struct flock lock = { .l_type = F_WRLCK };
	int second = open_twice();

	if (fcntl(blocked_fd, F_OFD_SETLK, &lock) != 0)
		abort();
	return closing(second, fcntl(second, wanted, &lock));
}
static long
call_setlkw(void)
{
	return lock_region(F_SETLKW);
}
static long
call_ofd_setlkw(void)
{
	return lock_region(F_OFD_SETLKW);
}

/* Asynchronous input and output. */
static aio_context_t aio;

static void
wake_aio(void)
{
	static char byte;
	struct iocb request = { .aio_lio_opcode = IOCB_CMD_PREAD,
				.aio_buf = (uintptr_t)&byte,
				.aio_nbytes = 1 };
	struct iocb *list = &request;
	int fd = open("/proc/self/exe", O_RDONLY);

	request.aio_fildes = (uint32_t)fd;
	if (syscall(SYS_io_submit, aio, 1, &list) != 1)
		abort();
	close(fd);
}
static long
get_events(const struct timespec *timeout)
{
	struct io_event event;
	struct timespec ts = duration;
	long r;
	int error;

	aio = 0;
	if (syscall(SYS_io_setup, 1, &aio) != 0)
		abort();
	r = syscall(SYS_io_getevents, aio, 1, 1, &event, timeout ? &ts : NULL);
	error = errno;
	syscall(SYS_io_destroy, aio);
	errno = error;
	return r;
}
static long
call_io_getevents(void)
{
	return get_events(NULL);
}
static long
call_io_getevents_finite(void)
{
	return get_events(&duration);
}
static long
call_io_uring_finite(void)
{
	struct io_uring_params params = { 0 };
	struct io_uring_getevents_arg how = { .ts = (uintptr_t)&duration };
	int fd = (int)syscall(SYS_io_uring_setup, 1, &params);

	return closing(fd,
		       syscall(SYS_io_uring_enter, fd, 0, 1,
			       IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
			       &how, sizeof(how)));
}

#endif
