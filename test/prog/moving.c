/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moving.c - threads that are hardly ever at one place for long: they wait for
 * half a millisecond, in a call that a stop would end, below a1 < a2 < ... <
 * a6, then below b1 < b2 < ... < b6, whose frames lie in the same places. So a
 * stack with functions of both was never there. Says "ready", and ends when
 * standard input does.
 *
 * CFLAGS: -O1 -fno-optimize-sibling-calls
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define THREADS 8
#define NOINLINE __attribute__((noinline, noclone))

static int epoll;
static volatile long sink;

static NOINLINE void
a6(void)
{
	struct epoll_event event;

	sink += epoll_wait(epoll, &event, 1, 1);
}

static NOINLINE void
b6(void)
{
	const struct timespec timeout = { 0, 500000 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sink += sigtimedwait(&set, NULL, &timeout);
}

#define STEP(name, next) \
	static NOINLINE void name(void) \
	{ \
		next(); \
		sink++; \
	}
STEP(a5, a6)
STEP(a4, a5)
STEP(a3, a4)
STEP(a2, a3)
STEP(a1, a2)
STEP(b5, b6)
STEP(b4, b5)
STEP(b3, b4)
STEP(b2, b3)
STEP(b1, b2)

static void *
run(void *nothing)
{
	pthread_setname_np(pthread_self(), "mover");
	for (;;) {
		a1();
		b1();
	}
	return nothing;
}

int
main(void)
{
	sigset_t set;
	char c;

	epoll = epoll_create1(0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (epoll < 0 || pthread_create(&thread, NULL, run, NULL) != 0)
			abort();
	}
	usleep(100000);
	printf("ready\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}
