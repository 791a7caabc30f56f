/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking_calls.h - calls that eintr.c makes, and what wakes them; more are in
 * blocking_waits.h and blocking_files.h.
 */
#ifndef HEAPAGENT_TEST_BLOCKING_CALLS_H
#define HEAPAGENT_TEST_BLOCKING_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* When what a call waits for happens, and how long a finite one waits. */
#define WAKE_MS 240

static int ends[2]; /* of a pipe: nothing in it until it is woken */
static int sockets[2];
static int epoll, semaphores, queue;
static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static bool happened;
static pthread_t caller, idler;
static volatile sig_atomic_t handled;

static struct timespec
from_now(clockid_t clock, long ms)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	ts.tv_nsec += ms * 1000000;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	return ts;
}

static const struct timespec duration = { 0, WAKE_MS * 1000000 };

/* Wakers. */
static void
wake_pipe(void)
{
	if (write(ends[1], "x", 1) != 1)
		abort();
}
static void
wake_socket(void)
{
	if (write(sockets[1], "x", 1) != 1)
		abort();
}
static void
wake_signal(void)
{
	pthread_kill(caller, SIGUSR1);
}
static void
wake_semaphore(void)
{
	sem_post(&semaphore);
}
static void
wake_condition(void)
{
	pthread_mutex_lock(&mutex);
	happened = true;
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&mutex);
}
static void
wake_semop(void)
{
	struct sembuf up = { .sem_op = 1 };

	semop(semaphores, &up, 1);
}
static void
wake_queue(void)
{
	const struct {
		long type;
		char text;
	} message = { 1, 'x' };

	msgsnd(queue, &message, 1, 0);
}

/* Calls. */
static void
drain(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		abort();
}
/* The result of a call that waited for the pipe, which is empty again. */
static long
drained(long r)
{
	if (r == 1)
		drain(ends[0]);
	return r;
}

static long
call_read(void)
{
	char c;

	return read(ends[0], &c, 1);
}
static long
call_poll(void)
{
	struct pollfd fd = { .fd = ends[0], .events = POLLIN };

	return drained(poll(&fd, 1, -1));
}
static long
call_ppoll(void)
{
	struct pollfd fd = { .fd = ends[0], .events = POLLIN };

	return drained(ppoll(&fd, 1, NULL, NULL));
}
static long
call_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	return drained(select(ends[0] + 1, &set, NULL, NULL, NULL));
}
static long
call_epoll_wait(void)
{
	struct epoll_event event;

	return drained(epoll_wait(epoll, &event, 1, -1));
}
static long
call_epoll_pwait(void)
{
	struct epoll_event event;
	sigset_t mask;

	sigemptyset(&mask);
	return drained(epoll_pwait(epoll, &event, 1, -1, &mask));
}
static long
call_epoll_pwait2(void)
{
	struct epoll_event event;

	return drained(epoll_pwait2(epoll, &event, 1, NULL, NULL));
}
static long
call_pause(void)
{
	handled = 0;
	pause();
	return handled;
}
static long
call_sigsuspend(void)
{
	sigset_t mask, before;

	handled = 0;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	sigdelset(&mask, SIGUSR1);
	sigdelset(&mask, SIGUSR2);
	before = mask;
	sigaddset(&before, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	sigsuspend(&mask);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return handled;
}
static long
wait_for_signal(const struct timespec *timeout)
{
	sigset_t set;
	long r;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	r = sigtimedwait(&set, NULL, timeout);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	return r;
}
static long
call_sigwaitinfo(void)
{
	return wait_for_signal(NULL);
}
static long
call_semop(void)
{
	struct sembuf down = { .sem_op = -1 };

	return semop(semaphores, &down, 1);
}
static long
call_msgrcv(void)
{
	struct {
		long type;
		char text[8];
	} message;

	return msgrcv(queue, &message, sizeof(message.text), 0, 0);
}
static long
call_sem_wait(void)
{
	return sem_wait(&semaphore);
}
static long
call_cond_wait(void)
{
	long rounds = 0;

	pthread_mutex_lock(&mutex);
	for (happened = false; !happened; rounds++)
		pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
	return rounds > 0;
}
static long
call_recv(void)
{
	char c;

	return recv(sockets[0], &c, 1, 0);
}
static void
receive_timeout(int fd, long ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
}
static long
call_recv_timed(void)
{
	char c;
	long r;

	receive_timeout(sockets[0], 20000);
	r = recv(sockets[0], &c, 1, 0);
	receive_timeout(sockets[0], 0);
	return r;
}
static long
call_read_timed(void)
{
	char c;
	long r;

	receive_timeout(sockets[0], 20000);
	r = read(sockets[0], &c, 1);
	receive_timeout(sockets[0], 0);
	return r;
}
static long
call_recv_times_out(void)
{
	char c;
	long r;

	receive_timeout(sockets[0], WAKE_MS);
	r = recv(sockets[0], &c, 1, 0);
	receive_timeout(sockets[0], 0);
	return r;
}
static long
call_accept_times_out(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int r, error;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(fd, 1) != 0)
		abort();
	receive_timeout(fd, WAKE_MS);
	r = accept(fd, NULL, NULL);
	error = errno;
	close(fd);
	errno = error;
	return r;
}
static long
call_waitpid(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct timespec ts = duration;

		nanosleep(&ts, NULL);
		_exit(7);
	}
	return waitpid(pid, NULL, 0) == pid;
}
static long
call_mq_receive(void)
{
	struct mq_attr attributes = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	char name[32], text[8];
	struct timespec until = from_now(CLOCK_REALTIME, WAKE_MS);
	mqd_t mq;
	long r;
	int error;

	snprintf(name, sizeof(name), "/heapagent-%d", (int)getpid());
	mq = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
	if (mq == (mqd_t)-1)
		return -2;
	mq_unlink(name);
	r = mq_timedreceive(mq, text, sizeof(text), NULL, &until);
	error = errno;
	mq_close(mq);
	errno = error;
	return r;
}
static long
call_timerfd(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	struct itimerspec timer = { .it_value = duration };
	uint64_t count = 0;
	long r;

	timerfd_settime(fd, 0, &timer, NULL);
	r = read(fd, &count, sizeof(count));
	close(fd);
	return r * 10 + (long)count;
}
static long
call_nanosleep(void)
{
	struct timespec request = duration, remaining = { 9, 9 };

	return nanosleep(&request, &remaining);
}
static long
call_nanosleep_in_place(void)
{
	struct timespec ts = duration;

	return nanosleep(&ts, &ts);
}
static long
call_clock_nanosleep(void)
{
	struct timespec until = from_now(CLOCK_MONOTONIC, WAKE_MS);

	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}
static long
call_sleep(void)
{
	return sleep(1);
}
static long
call_select_times_out(void)
{
	struct timeval tv = { 0, WAKE_MS * 1000 };

	return select(0, NULL, NULL, NULL, &tv);
}
static long
call_ppoll_times_out(void)
{
	return ppoll(NULL, 0, &duration, NULL);
}
static long
call_sem_timedwait(void)
{
	struct timespec until = from_now(CLOCK_REALTIME, WAKE_MS);

	return sem_timedwait(&semaphore, &until);
}
static long
call_cond_timedwait(void)
{
	struct timespec until = from_now(CLOCK_REALTIME, WAKE_MS);
	long r = 0;

	pthread_mutex_lock(&mutex);
	while (r == 0)
		r = pthread_cond_timedwait(&condition, &mutex, &until);
	pthread_mutex_unlock(&mutex);
	return r;
}

/* Those whose remaining time the kernel keeps to itself. */
static long
call_poll_finite(void)
{
	return poll(NULL, 0, WAKE_MS);
}
static long
call_epoll_finite(void)
{
	struct epoll_event event;

	return epoll_wait(epoll, &event, 1, WAKE_MS);
}
static long
call_usleep(void)
{
	return usleep(WAKE_MS * 1000);
}
static long
call_sigtimedwait(void)
{
	return wait_for_signal(&duration);
}
static long
call_semtimedop(void)
{
	struct sembuf down = { .sem_op = -1 };

	return semtimedop(semaphores, &down, 1, &duration);
}

#endif
