/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_loop.c - `event_loop FIFO`: waits in epoll_wait with a time-out for a
 * byte from there, beside a thread that waits for nothing, and prints what it
 * returned.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static void *
idle(void *argument)
{
	for (;;)
		pause();
	return argument;
}

int
main(int argc, char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(0);
	int input = argc > 1 ? open(argv[1], O_RDWR) : -1;
	pthread_t thread;
	int r;

	if (pthread_create(&thread, NULL, idle, NULL) != 0 ||
	    epoll_ctl(fd, EPOLL_CTL_ADD, input, &event) != 0)
		return 2;
	printf("ready\n");
	fflush(stdout);
	r = epoll_wait(fd, &event, 1, 60000);
	printf("%d %s\n", r, r < 0 ? strerror(errno) : "");
	return 0;
}
