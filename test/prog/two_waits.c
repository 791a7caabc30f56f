/* SPDX-License-Identifier: Apache-2.0 */
/*
 * two_waits.c - prints "ready", and what poll() returns in its first thread,
 * which it ends in after two seconds. Another thread reads from a pipe.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];

static void *
read_from_pipe(void *argument)
{
	char c;

	(void)!read(ends[0], &c, 1);
	return argument;
}

int
main(void)
{
	pthread_t thread;

	if (pipe(ends) != 0 ||
	    pthread_create(&thread, NULL, read_from_pipe, NULL) != 0)
		return 2;
	usleep(100000);
	puts("ready");
	fflush(stdout);
	printf("poll %d\n", poll(NULL, 0, 2000));
	return 0;
}
