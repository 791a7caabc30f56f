/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eintr.c - `eintr none|self|other`: makes each of a table of blocking calls
 * and prints what it returned. While the call blocks, SIGUSR2 comes twice: to
 * no thread, to the thread that makes the call, or to another one. What is
 * printed must not depend on that.
 *
 * LIBS: -lrt
 */
#include "blocking_calls.h"

static void
on_signal(int nr)
{
	(void)nr;
	handled++;
}

static void
sleep_ms(long ms)
{
	struct timespec until = from_now(CLOCK_MONOTONIC, ms);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
		;
}

/* Sends the signals and wakes the call. */
struct conductor {
	const pthread_t *target;
	void (*wake)(void);
};

static void *
conduct(void *argument)
{
	struct conductor *conductor = argument;

	for (int i = 0; i < 2; i++) {
		sleep_ms(SIGNAL_MS);
		if (conductor->target != NULL)
			pthread_kill(*conductor->target, SIGUSR2);
	}
	sleep_ms(WAKE_MS - 2 * SIGNAL_MS);
	if (conductor->wake != NULL)
		conductor->wake();
	return NULL;
}

static void *
idle(void *argument)
{
	sigset_t all;

	(void)argument;
	sigfillset(&all);
	sigdelset(&all, SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (;;)
		sleep_ms(10);
	return NULL;
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

static long
elapsed_ms(const struct timespec *begin)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - begin->tv_sec) * 1000 +
	       (now.tv_nsec - begin->tv_nsec) / 1000000;
}

int
main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "none";

	make_objects();
	caller = pthread_self();
	pthread_create(&idler, NULL, idle, NULL);
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct conductor conductor = { .wake = calls[i].wake };
		struct timespec begin = from_now(CLOCK_MONOTONIC, 0);
		pthread_t thread;
		long r;
		int error;

		if (strcmp(mode, "self") == 0)
			conductor.target = &caller;
		else if (strcmp(mode, "other") == 0)
			conductor.target = &idler;
		pthread_create(&thread, NULL, conduct, &conductor);
		errno = 0;
		r = calls[i].call();
		error = r < 0 ? errno : 0;
		printf("%s: %ld %s%s\n", calls[i].name, r, strerror(error),
		       elapsed_ms(&begin) + 1 < WAKE_MS ? " early" : "");
		fflush(stdout);
		pthread_join(thread, NULL);
	}
	msgctl(queue, IPC_RMID, NULL);
	semctl(semaphores, 0, IPC_RMID);
	return 0;
}
