/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking_waits.h - more calls that eintr.c makes: sleeps without a place for
 * the rest, futexes and locks, queues, signals.
 */
#ifndef HEAPAGENT_TEST_BLOCKING_WAITS_H
#define HEAPAGENT_TEST_BLOCKING_WAITS_H

#include <linux/futex.h>
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

#endif
