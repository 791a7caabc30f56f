/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsan_waits.c - `tsan_waits`: under ThreadSanitizer, whose own handler calls
 * the program's, sleeps and polls while SIGUSR2 comes. "done" at the end.
 *
 * CFLAGS: -fsanitize=thread
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static atomic_bool over;
static pthread_t caller;

static void *
send_signals(void *argument)
{
	sigset_t set;

	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	while (!over) {
		const struct timespec pause = { 0, 20000000 };

		pthread_kill(caller, SIGUSR2);
		nanosleep(&pause, NULL);
	}
	return argument;
}

int
main(void)
{
	const struct timespec pause = { 0, 30000000 };
	pthread_t thread;

	caller = pthread_self();
	pthread_create(&thread, NULL, send_signals, NULL);
	for (int i = 0; i < 40; i++) {
		nanosleep(&pause, NULL);
		poll(NULL, 0, 30);
	}
	over = true;
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
