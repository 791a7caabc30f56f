/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_threads.c - `dump_threads [COUNT]`: threads that each wait in a function
 * of a telling name, or COUNT threads that all wait in one. Says "ready" when
 * they do, and ends when standard input does: with status 0 if no call of any
 * thread has returned before.
 *
 * CFLAGS: -O0
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

static sem_t never;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long spins;
static volatile int returned;

static void
in_poll(void)
{
	poll(NULL, 0, -1);
}

static void
in_epoll(void)
{
	struct epoll_event event;

	epoll_wait(epoll_create1(0), &event, 1, -1);
}

static void
in_finite_epoll(void)
{
	struct epoll_event event;

	epoll_wait(epoll_create1(0), &event, 1, 600000);
}

static void
in_semaphore(void)
{
	sem_wait(&never);
}

static void
in_mutex(void)
{
	pthread_mutex_lock(&held);
}

static void
in_sleep(void)
{
	sleep(600);
}

static void
in_sigwait(void)
{
	sigset_t set;
	int nr;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigwait(&set, &nr);
}

static void
spinning(void)
{
	for (;;)
		spins++;
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {
	{ "t-poll", in_poll },		 { "t-epoll", in_epoll },
	{ "t-finite", in_finite_epoll }, { "t-sem", in_semaphore },
	{ "t-mutex", in_mutex },	 { "t-sleep", in_sleep },
	{ "t-sigwait", in_sigwait },	 { "t-spin", spinning },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void *
run(void *argument)
{
	unsigned kind = (unsigned)(unsigned long)argument;

	pthread_setname_np(pthread_self(), kinds[kind].name);
	/* A tracer that comes makes some return: they wait again, as one that
	 * ends just then confuses gdb now and then. */
	for (;;) {
		kinds[kind].run();
		returned = 1;
	}
	return NULL;
}

static void
start(unsigned kind)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	if (pthread_create(&thread, &attributes, run,
			   (void *)(unsigned long)kind) != 0)
		abort();
	pthread_attr_destroy(&attributes);
}

int
main(int argc, char **argv)
{
	const unsigned semaphore_kind = 3;
	char c;

	sem_init(&never, 0, 0);
	pthread_mutex_lock(&held);
	if (argc > 1)
		for (int i = 0; i < atoi(argv[1]); i++)
			start(semaphore_kind);
	else
		for (unsigned i = 0; i < KINDS; i++)
			start(i);
	usleep(300000);
	printf("ready\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return returned;
}
