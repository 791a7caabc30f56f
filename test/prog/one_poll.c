/* SPDX-License-Identifier: Apache-2.0 */
/* one_poll.c - what poll() returns that SIGUSR2 interrupts. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *
send_signal(void *argument)
{
	usleep(200000);
	pthread_kill(*(pthread_t *)argument, SIGUSR2);
	return argument;
}

int
main(void)
{
	pthread_t self = pthread_self(), thread;
	int r;

	pthread_create(&thread, NULL, send_signal, &self);
	r = poll(NULL, 0, 600);
	printf(r < 0 ? "%d %s\n" : "%d\n", r, strerror(errno));
	pthread_join(thread, NULL);
	return 0;
}
