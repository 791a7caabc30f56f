/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eintr.c - `eintr none|self|other`: makes each of a table of blocking calls
 * and prints what it returned, and whether it did so early or late. While the
 * call blocks SIGUSR2 comes every 20 ms: to no thread, to the thread that makes
 * the call, or to another one. What is printed must not depend on that.
 *
 * LIBS: -lrt
 */
#include "blocking_calls.h"
#include "blocking_files.h"
#include "blocking_transfers.h"
#include "blocking_waits.h"

#define SIGNAL_EVERY_MS 20
/* A call that begins anew with each signal ends only after the last. */
#define SIGNALS 75
/* What is left of a dump by the time that a call is woken. */
#define QUIET_MS (WAKE_MS - 80)
/* Two clocks' readings and their rounding. */
#define EARLY_MS 2
/*
 * Less than such a call takes longer. What the machine is late itself, as seen
 * by the thread that sends the signals, does not count.
 */
#define LATE_MS 1250

/*
 * Where ms is 0 a call ends at WAKE_MS, by what wakes it or by time. IS_CUT:
 * the same; but a stop while it does a part, and does not wait, cuts it short
 * (docs/threads.md), so no signals come shortly before it is woken.
 */
#define IS_CUT (-1)
static const struct call {
	const char *name;
	long (*call)(void);
	void (*wake)(void);
	long ms;
} calls[] = {
	{ "nanosleep", call_nanosleep_plain, NULL, 0 },
	{ "nanosleep with a rest", call_nanosleep, NULL, 0 },
	{ "nanosleep in place", call_nanosleep_in_place, NULL, 0 },
	{ "nanosleep, a signal", call_nanosleep_long, wake_signal, 0 },
	{ "clock_nanosleep", call_clock_relative, NULL, 0 },
	{ "clock_nanosleep with a rest", call_clock_rest, NULL, 0 },
	{ "clock_nanosleep absolute", call_clock_nanosleep, NULL, 0 },
	{ "sleep", call_sleep, NULL, 1000 },
	{ "usleep", call_usleep, NULL, 0 },
	{ "poll", call_poll, wake_pipe, 0 },
	{ "poll timed", call_poll_woken, wake_pipe, 0 },
	{ "poll times out", call_poll_finite, NULL, 0 },
	{ "poll, a signal", call_poll_long, wake_signal, 0 },
	{ "ppoll", call_ppoll, wake_pipe, 0 },
	{ "ppoll times out", call_ppoll_times_out, NULL, 0 },
	{ "select", call_select, wake_pipe, 0 },
	{ "select times out", call_select_times_out, NULL, 0 },
	{ "pselect", call_pselect, wake_pipe, 0 },
	{ "pselect times out", call_pselect_times_out, NULL, 0 },
	{ "epoll_wait", call_epoll_wait, wake_pipe, 0 },
	{ "epoll_wait times out", call_epoll_finite, NULL, 0 },
	{ "epoll_pwait", call_epoll_pwait, wake_pipe, 0 },
	{ "epoll_pwait times out", call_epoll_pwait_finite, NULL, 0 },
	{ "epoll_pwait2", call_epoll_pwait2, wake_pipe, 0 },
	{ "epoll_pwait2 times out", call_epoll_pwait2_finite, NULL, 0 },
	{ "futex", call_futex, wake_futex, 0 },
	{ "futex times out", call_futex_finite, NULL, 0 },
	{ "futex bitset times out", call_futex_bitset, NULL, 0 },
	{ "sem_wait", call_sem_wait, wake_semaphore, 0 },
	{ "sem_timedwait", call_sem_timedwait_woken, wake_semaphore, 0 },
	{ "sem_timedwait times out", call_sem_timedwait, NULL, 0 },
	{ "cond_wait", call_cond_wait, wake_condition, 0 },
	{ "cond_timedwait times out", call_cond_timedwait, NULL, 0 },
	{ "mutex_timedlock times out", call_mutex_timedlock, NULL, 0 },
	{ "rwlock_timedwrlock times out", call_rwlock_timedwrlock, NULL, 0 },
	{ "timedjoin times out", call_join, NULL, 0 },
	{ "semop", call_semop, wake_semop, 0 },
	{ "semtimedop", call_semtimedop_endless, wake_semop, 0 },
	{ "semtimedop times out", call_semtimedop, NULL, 0 },
	{ "msgrcv", call_msgrcv, wake_queue, 0 },
	{ "msgsnd", call_msgsnd, wake_full_queue, 0 },
	{ "mq_receive", call_mq_receive_woken, wake_posix_queue, 0 },
	{ "mq_timedreceive times out", call_mq_receive, NULL, 0 },
	{ "mq_timedsend times out", call_mq_timedsend, NULL, 0 },
	{ "pause", call_pause, wake_signal, 0 },
	{ "sigsuspend", call_sigsuspend, wake_signal, 0 },
	{ "sigwait", call_sigwait, wake_signal, 0 },
	{ "sigwaitinfo", call_sigwaitinfo, wake_signal, 0 },
	{ "sigtimedwait times out", call_sigtimedwait, NULL, 0 },
	{ "signalfd", call_signalfd, wake_signal, 0 },
	{ "recv", call_recv, wake_socket, 0 },
	{ "recv SO_RCVTIMEO", call_recv_timed, wake_socket, 0 },
	{ "read SO_RCVTIMEO", call_read_timed, wake_socket, 0 },
	{ "recv times out", call_recv_times_out, NULL, 0 },
	{ "recvmmsg times out", call_recvmmsg_times_out, NULL, 0 },
	{ "send", call_send, empty_socket, 0 },
	{ "send times out", call_send_times_out, NULL, 0 },
	{ "write times out", call_write_times_out, NULL, 0 },
	{ "accept", call_accept, wake_accept, 0 },
	{ "accept times out", call_accept_times_out, NULL, 0 },
	{ "connect times out", call_connect_times_out, NULL, 0 },
	{ "pipe read", call_read, wake_pipe, 0 },
	{ "pipe write", call_write, empty_pipe, 0 },
	{ "pipe write, large", call_large_pipe_write, wake_reader, IS_CUT },
	{ "writev, large", call_large_writev, wake_reader, IS_CUT },
	{ "write, large", call_large_write, wake_reader, IS_CUT },
	{ "send, large", call_large_send, wake_reader, IS_CUT },
	{ "sendmsg, large", call_large_sendmsg, wake_reader, IS_CUT },
	{ "sendfile, large", call_large_sendfile, wake_reader, IS_CUT },
	{ "recv of all", call_recv_all, wake_writer, IS_CUT },
	{ "recvmsg of all", call_recvmsg_all, wake_writer, IS_CUT },
	{ "terminal read of two", call_terminal_read, wake_terminal, IS_CUT },
	{ "close lingers", call_close_lingers, NULL, 1000 },
	{ "eventfd", call_eventfd, wake_eventfd, 0 },
	{ "timerfd", call_timerfd, NULL, 0 },
	{ "waitpid", call_waitpid, NULL, 0 },
	{ "waitid", call_waitid, NULL, 0 },
	{ "flock", call_flock, wake_lock, 0 },
	{ "F_SETLKW", call_setlkw, wake_lock, 0 },
	{ "F_OFD_SETLKW", call_ofd_setlkw, wake_lock, 0 },
	{ "io_getevents", call_io_getevents, wake_aio, 0 },
	{ "io_getevents of two", call_two_events, wake_aio, IS_CUT },
	{ "io_getevents times out", call_io_getevents_finite, NULL, 0 },
	{ "io_uring_enter submits", call_uring_submits, wake_eventfd, IS_CUT },
	{ "io_uring_enter times out", call_io_uring_finite, NULL, 0 },
};

static void
on_signal(int nr)
{
	(void)nr;
	handled++;
}

/* Sends the signals and wakes the call. */
struct conductor {
	const pthread_t *target;
	const struct call *call;
	sem_t ended;
	long stalled_ms;
	long first_ms; /* when the first signal was sent; 0: not yet */
};

static long
milliseconds(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - from->tv_sec) * 1000 +
	       (now.tv_nsec - from->tv_nsec) / 1000000;
}

static void *
conduct(void *argument)
{
	struct conductor *conductor = argument;
	struct timespec begin = from_now(CLOCK_MONOTONIC, 0);
	bool woken = conductor->call->wake == NULL;

	for (long sent = 0, last_ms = 0, now_ms;; last_ms = now_ms) {
		struct timespec until =
			from_now(CLOCK_MONOTONIC, SIGNAL_EVERY_MS);

		if (sem_clockwait(&conductor->ended, CLOCK_MONOTONIC, &until) ==
		    0)
			return NULL;
		now_ms = milliseconds(&begin);
		conductor->stalled_ms += now_ms - last_ms - SIGNAL_EVERY_MS;
		if (!woken && now_ms >= WAKE_MS) {
			conductor->call->wake();
			woken = true;
		}
		if (sent++ < SIGNALS && conductor->target != NULL &&
		    !(conductor->call->ms == IS_CUT && now_ms > QUIET_MS))
			pthread_kill(*conductor->target, SIGUSR2);
		if (sent == 1)
			conductor->first_ms = now_ms;
	}
}

static void *
idle(void *argument)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (;;)
		pause();
	return argument;
}

static void
make_objects(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct sigaction action = { .sa_handler = on_signal };

	epoll = epoll_create1(0);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	queue = msgget(IPC_PRIVATE, 0600);
	if (pipe(ends) != 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0 || epoll < 0 ||
	    semaphores < 0 || queue < 0 ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) != 0) {
		perror("eintr");
		exit(2);
	}
	sem_init(&semaphore, 0, 0);
	sigaction(SIGUSR1, &action, NULL);
}

/*
 * Makes the call and prints what became of it. False, and nothing is printed,
 * if the machine was so busy that no signal came while it surely blocked.
 */
static bool
make_call(const struct call *call, const pthread_t *target)
{
	struct conductor conductor = { .target = target, .call = call };
	struct timespec begin = from_now(CLOCK_MONOTONIC, 0);
	long expected_ms = call->ms > 0 ? call->ms : WAKE_MS;
	long elapsed_ms, r;
	pthread_t thread;
	int error;

	sem_init(&conductor.ended, 0, 0);
	pthread_create(&thread, NULL, conduct, &conductor);
	errno = 0;
	r = call->call();
	error = r < 0 ? errno : 0;
	elapsed_ms = milliseconds(&begin);
	sem_post(&conductor.ended);
	pthread_join(thread, NULL);
	if (conductor.first_ms == 0 || conductor.first_ms > WAKE_MS / 2)
		return false;
	printf("%s: %ld", call->name, r);
	if (error != 0)
		printf(" %s", strerrorname_np(error));
	if (elapsed_ms + EARLY_MS < expected_ms)
		printf(", early");
	else if (elapsed_ms - conductor.stalled_ms >= expected_ms + LATE_MS)
		printf(", late");
	printf("\n");
	fflush(stdout);
	return true;
}

int
main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "none";
	const pthread_t *target = NULL;

	make_objects();
	caller = pthread_self();
	pthread_create(&idler, NULL, idle, NULL);
	if (strcmp(mode, "self") == 0)
		target = &caller;
	else if (strcmp(mode, "other") == 0)
		target = &idler;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		while (!make_call(&calls[i], target))
			;
	msgctl(queue, IPC_RMID, NULL);
	semctl(semaphores, 0, IPC_RMID);
	return 0;
}
