/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigterm.c - a thread waits with sigwait for SIGTERM, which all block, and
 * which a child sends again each time it was answered; the main thread
 * allocates.
 *
 *	sigterm COUNT
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int received;
static int count;
static int answer[2];

static void *
wait_for_signals(void *set)
{
	while (received < count) {
		int signal = 0;

		if (sigwait(set, &signal) != 0 || signal != SIGTERM)
			abort();
		received++;
		if (write(answer[1], "", 1) != 1)
			abort();
	}
	return NULL;
}

static void
send_all(void)
{
	const struct timespec pause = { 0, 5000000 };

	for (int i = 0; i < count; i++) {
		char byte;

		kill(getppid(), SIGTERM);
		if (read(answer[0], &byte, 1) != 1)
			_exit(1);
		nanosleep(&pause, NULL);
	}
	_exit(0);
}

int
main(int argc, char **argv)
{
	pthread_t waiter;
	sigset_t set;
	int status;
	pid_t pid;

	count = argc > 1 ? atoi(argv[1]) : 10;
	if (pipe(answer) != 0)
		return 1;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&waiter, NULL, wait_for_signals, &set);
	pid = fork();
	if (pid == 0)
		send_all();
	while (received < count) {
		void *volatile p = malloc(100);

		free(p);
	}
	pthread_join(waiter, NULL);
	printf("%d received, child %d\n", (int)received,
	       waitpid(pid, &status, 0) == pid ? status : -1);
}
