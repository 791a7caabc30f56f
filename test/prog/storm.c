/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storm.c - waits in poll and nanosleep while another thread sends it SIGUSR2
 * without a pause. Each wait must end at its time; with a timer's SIGALRM there
 * must be an EINTR only for an alarm. Says "ok", or what was wrong.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#define WAIT_MS 1000
#define ALARM_MS 50

static volatile sig_atomic_t alarms;
static pthread_t waiter;
static bool done; /* atomic */

static void
on_alarm(int nr)
{
	(void)nr;
	alarms++;
}

static void *
send(void *argument)
{
	sigset_t alarm;

	/* The alarms are the waiter's, whatever it does when they come. */
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
		pthread_kill(waiter, SIGUSR2);
	return argument;
}

static long
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
check(bool holds, const char *text)
{
	if (holds)
		return;
	printf("%s\n", text);
	exit(1);
}

int
main(void)
{
	struct itimerval timer = { { 0, ALARM_MS * 1000 },
				   { 0, ALARM_MS * 1000 } };
	const struct timespec second = { WAIT_MS / 1000, 0 };
	struct timespec rest = second;
	struct sigaction action = { .sa_handler = on_alarm };
	long begin_ms = now_ms(), interrupted = 0;
	pthread_t sender;

	waiter = pthread_self();
	pthread_create(&sender, NULL, send, NULL);
	check(poll(NULL, 0, WAIT_MS) == 0, "poll was interrupted");
	check(now_ms() - begin_ms >= WAIT_MS - 1, "poll ended early");
	begin_ms = now_ms();
	check(nanosleep(&second, NULL) == 0, "nanosleep was interrupted");
	check(now_ms() - begin_ms >= WAIT_MS - 1, "nanosleep ended early");
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	begin_ms = now_ms();
	while (nanosleep(&rest, &rest) != 0) {
		interrupted++;
		check(interrupted <= alarms, "EINTR without an alarm");
	}
	check(now_ms() - begin_ms >= WAIT_MS - 1, "the sleeps ended early");
	check(interrupted > 0, "no alarm interrupted a sleep");
	__atomic_store_n(&done, true, __ATOMIC_RELAXED);
	pthread_join(sender, NULL);
	printf("ok\n");
	return 0;
}
