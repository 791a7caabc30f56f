/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main_gone.c - `main_gone ARGUMENT...`: the first thread ends and leaves four
 * others, so that the process's own files in /proc say nothing of its memory.
 * One says "ready" when it has, and ends the program when standard input does.
 *
 * CFLAGS: -O0
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_t first;
static sem_t never;

static void
in_semaphore(void)
{
	sem_wait(&never);
	_exit(1);
}

static void *
wait_for_ever(void *unused)
{
	in_semaphore();
	return unused;
}

static void *
serve(void *unused)
{
	char c;

	pthread_setname_np(pthread_self(), "t-reader");
	pthread_join(first, NULL);
	usleep(100000);
	printf("ready\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	_exit(0);
	return unused;
}

int
main(void)
{
	pthread_t thread;

	first = pthread_self();
	sem_init(&never, 0, 0);
	for (int i = 0; i < 4; i++) {
		if (pthread_create(&thread, NULL,
				   i == 0 ? serve : wait_for_ever, NULL) != 0)
			abort();
		if (i > 0)
			pthread_setname_np(thread, "t-waiter");
	}
	pthread_exit(NULL);
}
