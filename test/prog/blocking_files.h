/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking_files.h - more calls that eintr.c makes: sleeps without a place for
 * the rest, futexes, locks, queues, sockets, files and asynchronous ones.
 */
#ifndef HEAPAGENT_TEST_BLOCKING_FILES_H
#define HEAPAGENT_TEST_BLOCKING_FILES_H

#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include "blocking_calls.h"

/* The call's own result after what had to be tidied up. */
static long
closing(int fd, long r)
{
	int error = errno;

	close(fd);
	errno = error;
	return r;
}

/* Sleeps and the poll family. */
static long
call_nanosleep_plain(void)
{
	return nanosleep(&duration, NULL);
}
static long
call_clock_relative(void)
{
	return clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, NULL);
}
static long
call_clock_rest(void)
{
	struct timespec rest;

	return clock_nanosleep(CLOCK_REALTIME, 0, &duration, &rest);
}
static long
call_pselect(void)
{
	sigset_t mask;
	fd_set set;

	sigemptyset(&mask);
	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	return drained(pselect(ends[0] + 1, &set, NULL, NULL, NULL, &mask));
}
static long
call_pselect_times_out(void)
{
	return pselect(0, NULL, NULL, NULL, &duration, NULL);
}
static long
call_poll_woken(void)
{
	struct pollfd fd = { .fd = ends[0], .events = POLLIN };

	return drained(poll(&fd, 1, 20000));
}
static long
call_poll_long(void)
{
	return poll(NULL, 0, 20000);
}
static long
call_nanosleep_long(void)
{
	const struct timespec ts = { 20, 0 };

	return nanosleep(&ts, NULL);
}
static long
call_epoll_pwait_finite(void)
{
	struct epoll_event event;

	return epoll_pwait(epoll, &event, 1, WAKE_MS, NULL);
}
static long
call_epoll_pwait2_finite(void)
{
	struct epoll_event event;

	return epoll_pwait2(epoll, &event, 1, &duration, NULL);
}

/* Futexes and what is made of them. */
static uint32_t futex_word;

static void
wake_futex(void)
{
	__atomic_store_n(&futex_word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &futex_word, FUTEX_WAKE, 1);
}
static long
call_futex(void)
{
	long r = syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, NULL);

	/* EAGAIN if it was woken while a signal or a stop had it aside, with or
	 * without us: that is what the word is for. */
	if (r != 0 && errno != EAGAIN)
		return r;
	r = __atomic_exchange_n(&futex_word, 0, __ATOMIC_ACQUIRE);
	return r - 1;
}
static long
call_futex_finite(void)
{
	return syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, &duration);
}
static long
call_futex_bitset(void)
{
	struct timespec until = from_now(CLOCK_MONOTONIC, WAKE_MS);

	return syscall(SYS_futex, &futex_word, FUTEX_WAIT_BITSET, 0, &until,
		       NULL, FUTEX_BITSET_MATCH_ANY);
}
static long
call_sem_timedwait_woken(void)
{
	struct timespec until = from_now(CLOCK_REALTIME, 20000);

	return sem_timedwait(&semaphore, &until);
}
static long
call_mutex_timedlock(void)
{
	static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
	struct timespec until = from_now(CLOCK_REALTIME, WAKE_MS);
	long r;

	pthread_mutex_lock(&held);
	r = pthread_mutex_timedlock(&held, &until);
	pthread_mutex_unlock(&held);
	return r;
}
static long
call_rwlock_timedwrlock(void)
{
	static pthread_rwlock_t held = PTHREAD_RWLOCK_INITIALIZER;
	struct timespec until = from_now(CLOCK_REALTIME, WAKE_MS);
	long r;

	pthread_rwlock_rdlock(&held);
	r = pthread_rwlock_timedwrlock(&held, &until);
	pthread_rwlock_unlock(&held);
	return r;
}
static long
call_join(void)
{
	struct timespec until = from_now(CLOCK_REALTIME, WAKE_MS);

	return pthread_timedjoin_np(idler, NULL, &until);
}

/* Queues and semaphores of both kinds. */
static mqd_t posix_queue;

static long
call_semtimedop_endless(void)
{
	struct sembuf down = { .sem_op = -1 };

	return semtimedop(semaphores, &down, 1, NULL);
}
static void
wake_full_queue(void)
{
	struct {
		long type;
		char text[8192];
	} message;

	while (msgrcv(queue, &message, sizeof(message.text), 0, IPC_NOWAIT) > 0)
		;
}
static long
call_msgsnd(void)
{
	const struct {
		long type;
		char text[4096];
	} message = { .type = 1 };
	long r;

	while (msgsnd(queue, &message, sizeof(message.text), IPC_NOWAIT) == 0)
		;
	r = msgsnd(queue, &message, sizeof(message.text), 0);
	wake_full_queue();
	return r;
}
static void
open_posix_queue(void)
{
	struct mq_attr attributes = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	char name[32];

	snprintf(name, sizeof(name), "/heapagent-%d", (int)getpid());
	posix_queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
	mq_unlink(name);
}
static void
wake_posix_queue(void)
{
	mq_send(posix_queue, "x", 1, 0);
}
static long
call_mq_receive_woken(void)
{
	char text[8];

	open_posix_queue();
	return closing(posix_queue,
		       mq_receive(posix_queue, text, sizeof(text), NULL));
}
static long
call_mq_timedsend(void)
{
	struct timespec until = from_now(CLOCK_REALTIME, WAKE_MS);

	open_posix_queue();
	wake_posix_queue();
	return closing(posix_queue,
		       mq_timedsend(posix_queue, "y", 1, 0, &until));
}

/* Signals. */
static long
call_sigwait(void)
{
	sigset_t set;
	int nr = 0, r;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	r = sigwait(&set, &nr);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	return r * 100 + nr;
}
static long
call_signalfd(void)
{
	struct signalfd_siginfo info = { 0 };
	sigset_t set;
	int fd;
	long r;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, 0);
	r = closing(fd, read(fd, &info, sizeof(info)));
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	return r;
}

/* Sockets, pipes and files. */
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
