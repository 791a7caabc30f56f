/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pause_threads.c - what a dump costs a program of many threads:
 *
 *	pause_threads THREADS ROUNDS
 *
 * Of THREADS threads (the main thread is one) nearly all are blocked, in eight
 * kinds of calls by turns; four wake up every millisecond, and one reads the
 * clock all the time. Asks for ROUNDS dumps of itself and prints what
 * dump_cost.h says.
 *
 * LIBS: -pthread
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "dump_cost.h"

#define STACK_BYTES ((size_t)64 << 10)
#define WORKERS 4
#define OTHERS (2 + WORKERS) /* main, the spinner */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int ends[2];
static int epoll;
/* Atomic. */
static int begun;

static void
block(unsigned long kind)
{
	const struct timespec long_time = { 3600, 0 };
	struct timespec end = { 0, 0 };
	struct epoll_event event;
	char c;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 3600;
	switch (kind) {
	case 0:
		(void)!read(ends[0], &c, 1);
		break;
	case 1:
		sem_wait(&semaphore);
		break;
	case 2:
		poll(NULL, 0, -1);
		break;
	case 3:
		nanosleep(&long_time, NULL);
		break;
	case 4:
		epoll_wait(epoll, &event, 1, -1);
		break;
	case 5: /* a stop would be noticed: read without one */
		epoll_wait(epoll, &event, 1, 3600 * 1000);
		break;
	case 6:
		sem_timedwait(&semaphore, &end);
		break;
	default:
		pthread_mutex_lock(&mutex);
		pthread_cond_wait(&condition, &mutex);
		pthread_mutex_unlock(&mutex);
	}
}

static void *
blocked(void *argument)
{
	/* Relaxed: a number that main() waits for. */
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
	for (;;)
		block((unsigned long)argument % 8);
	return NULL;
}

static void *
work(void *unused)
{
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
	for (;;) {
		keep(malloc(100));
		usleep(1000);
	}
	return unused;
}

static void
start(void *(*body)(void *), unsigned long argument)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	if (pthread_create(&thread, &attributes, body, (void *)argument) != 0) {
		fprintf(stderr, "pause_threads: too many threads\n");
		exit(2);
	}
	pthread_attr_destroy(&attributes);
}

static void
start_all(int threads)
{
	if (sem_init(&semaphore, 0, 0) != 0 || pipe(ends) != 0 ||
	    (epoll = epoll_create1(0)) < 0) {
		perror("pause_threads");
		exit(2);
	}
	for (int i = 0; i < WORKERS; i++)
		start(work, 0);
	for (int i = 0; i < threads - OTHERS; i++)
		start(blocked, (unsigned long)i);
	while (__atomic_load_n(&begun, __ATOMIC_RELAXED) <
	       threads - OTHERS + WORKERS)
		usleep(1000);
	/* Until the last of them is blocked. */
	usleep(100000);
	spinner_start();
}

int
main(int argc, char **argv)
{
	const char *directory = getenv("HEAPAGENT_DIR");
	int threads = argc == 3 ? atoi(argv[1]) : 0;
	int rounds = argc == 3 ? atoi(argv[2]) : 0;

	if (threads <= OTHERS || rounds < 1 || rounds > DUMP_COST_ROUNDS_MAX ||
	    directory == NULL) {
		fprintf(stderr, "usage: HEAPAGENT_DIR=DIR pause_threads "
				"THREADS ROUNDS\n");
		return 2;
	}
	start_all(threads);
	dump_cost_print(directory, "pause_threads", rounds, true);
	return 0;
}
