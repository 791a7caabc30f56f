/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_host.c - what a program does beside a dump of its threads. Ends with
 *0 if nothing of it was disturbed; the first argument says which:
 *
 *	execs COUNT	asks, and becomes itself anew, beside busy threads
 *	cancels COUNT	cancels the thread that makes the dump, in the middle
 *	queues		has queued real-time signals, beside a busy thread
 *	merged COMMAND	asks twice, and becomes another program
 *	adopts		adopts orphans: its thread does not wait for the dump
 *
 * CFLAGS: -fexceptions
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUSY 4
#define QUEUED 50

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s failed, errno %d\n", #condition, \
				errno); \
			return 1; \
		} \
	} while (0)

static volatile unsigned long spun;
static volatile int cleaned;
static void *volatile keep;

static void *
spin(void *argument)
{
	(void)argument;
	for (;;)
		spun++;
	return NULL;
}

static void
sleep_us(long us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	while (nanosleep(&ts, &ts) != 0)
		;
}

static int
execs(char **argv)
{
	char next[16];
	int count = atoi(argv[2]);
	pthread_t thread;

	if (count == 0)
		return 0;
	for (int i = 0; i < BUSY; i++)
		CHECK(pthread_create(&thread, NULL, spin, NULL) == 0);
	kill(getpid(), SIGUSR2);
	/* When the dump is with the threads. */
	sleep_us(count % 20 * 300);
	snprintf(next, sizeof(next), "%d", count - 1);
	execl("/proc/self/exe", argv[0], argv[1], next, NULL);
	return 2;
}

static void
clean(void *argument)
{
	(void)argument;
	cleaned++;
}

static void *
read_for_ever(void *argument)
{
	char byte;

	pthread_cleanup_push(clean, NULL);
	(void)!read(*(int *)argument, &byte, 1);
	pthread_cleanup_pop(0);
	return NULL;
}

static int
cancels(char **argv)
{
	int count = atoi(argv[2]), pipe_fd[2];
	struct timespec begin, end;

	CHECK(pipe(pipe_fd) == 0);
	for (int i = 0; i < count; i++) {
		pthread_t thread;
		void *result;

		CHECK(pthread_create(&thread, NULL, read_for_ever,
				     &pipe_fd[0]) == 0);
		sleep_us(1000);
		pthread_kill(thread, SIGUSR2);
		sleep_us(i % 20 * 50);
		CHECK(pthread_cancel(thread) == 0);
		CHECK(pthread_join(thread, &result) == 0);
		CHECK(result == PTHREAD_CANCELED);
		CHECK(cleaned == i + 1);
	}
	/* Nobody holds what the next dump needs. */
	clock_gettime(CLOCK_MONOTONIC, &begin);
	pthread_kill(pthread_self(), SIGUSR2);
	clock_gettime(CLOCK_MONOTONIC, &end);
	CHECK(end.tv_sec - begin.tv_sec < 4);
	return 0;
}

/* Not signals that all threads block: they wait for these alone. */
static int
queues(char **argv)
{
	const struct timespec now = { 0, 0 };
	pthread_t thread;
	sigset_t set;

	(void)argv;
	sigemptyset(&set);
	for (int nr = SIGRTMAX - 1; nr > SIGRTMAX - 4; nr--)
		sigaddset(&set, nr);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	for (int i = 0; i < QUEUED; i++)
		CHECK(sigqueue(getpid(), SIGRTMAX - 1,
			       (union sigval){ .sival_int = i }) == 0);
	CHECK(pthread_create(&thread, NULL, spin, NULL) == 0);
	sleep_us(1000);
	kill(getpid(), SIGUSR2);
	for (int i = 0; i < QUEUED; i++) {
		siginfo_t info;

		CHECK(sigtimedwait(&set, &info, &now) == SIGRTMAX - 1);
		CHECK(info.si_value.sival_int == i);
	}
	return 0;
}

static int
merged(char **argv)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, spin, NULL) == 0);
	for (int i = 0; i < 200000; i++)
		keep = malloc(100);
	kill(getpid(), SIGUSR2);
	kill(getpid(), SIGUSR2);
	/* Not under the agent, and with the signal's default. */
	unsetenv("LD_PRELOAD");
	execvp(argv[2], argv + 2);
	return 2;
}

static int
adopts(char **argv)
{
	siginfo_t info = { 0 };

	(void)argv;
	CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
	kill(getpid(), SIGUSR2);
	/* The child that makes the dump is still there, in whatever state. */
	CHECK(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) ==
	      0);
	/* But is no child that a program waits for. */
	CHECK(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == -1 &&
	      errno == ECHILD);
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **argv);
	} cases[] = {
		{ "execs", execs },   { "cancels", cancels },
		{ "queues", queues }, { "merged", merged },
		{ "adopts", adopts },
	};

	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]);
	     i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			return cases[i].run(argv);
	return 2;
}
