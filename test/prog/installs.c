/* SPDX-License-Identifier: Apache-2.0 */
/*
 * installs.c - installs a handler over and over, beside a thread that runs and
 * takes no dump signal, until its standard input ends. Prints "ready"
 * and "unhurt".
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

static volatile int stop;

static void
nothing(int nr)
{
	(void)nr;
}

static void *
run(void *argument)
{
	while (!stop)
		;
	return argument;
}

int
main(void)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	struct sigaction action = { .sa_handler = nothing };
	pthread_t thread;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&thread, NULL, run, NULL) != 0)
		return 2;
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	puts("ready");
	(void)fflush(stdout);
	do {
		for (unsigned i = 0; i < 1000; i++)
			(void)sigaction(SIGWINCH, &action, NULL);
	} while (poll(&input, 1, 0) == 0);
	stop = 1;
	(void)pthread_join(thread, NULL);
	puts("unhurt");
	return 0;
}
