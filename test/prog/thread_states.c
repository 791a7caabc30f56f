/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_states.c - threads that are each blocked in a way of their own, for as
 * long as is known. Says "ready" when they are. Then, for each byte on standard
 * input:
 *
 *	k	"w-cycle" returns from its call and makes it again; "kicked"
 *	t	"NAME NANOSECONDS" for each: since when it is about to block,
 *		at least; then "told"
 *
 * Ends when standard input does: with status 0 if no call but that of "w-cycle"
 * has returned before.
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAME_BYTES 16

static sem_t never, kicked;
static int silent_pipe[2], end_pipe[2], cycle_pipe[2];
static volatile unsigned long spins;
static volatile int returned;

static void
in_semaphore(void)
{
	sem_wait(&never);
}

static void
in_poll(void)
{
	poll(NULL, 0, 600000);
}

static void
in_epoll(void)
{
	struct epoll_event event;

	epoll_wait(epoll_create1(0), &event, 1, -1);
}

static void
in_sleep(void)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += 600;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

static void
in_relative_sleep(void)
{
	struct timespec left = { .tv_sec = 600 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left);
}

static void
in_read(void)
{
	char c;

	(void)!read(silent_pipe[0], &c, 1);
}

static void
in_accept(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr address = { .sa_family = AF_UNIX };

	/* A name of the kernel's choice. */
	bind(fd, &address, sizeof(address.sa_family));
	listen(fd, 1);
	accept(fd, NULL, NULL);
}

/* A child that lives until this process does not. */
static void
wait_for_end(void)
{
	char c;

	close(end_pipe[1]);
	(void)!read(end_pipe[0], &c, 1);
	_exit(0);
}

static void
in_wait(void)
{
	pid_t pid = fork();

	if (pid == 0)
		wait_for_end();
	waitpid(pid, NULL, 0);
}

/* The kernel lets nothing but death interrupt this one. */
static void
in_vfork(void)
{
	/* The descriptors are the child's own, the memory is not. */
	pid_t pid = vfork();

	if (pid == 0)
		wait_for_end();
}

static void
in_unknown_call(void)
{
	spins++;
	pause();
}

static void
spinning(void)
{
	for (;;)
		spins++;
}

static void begin(unsigned kind);

static void
in_cycle(void)
{
	char c;

	while (read(cycle_pipe[0], &c, 1) == 1) {
		begin(0);
		sem_post(&kicked);
	}
}

static struct kind {
	char name[NAME_BYTES];
	void (*run)(void);
	struct timespec began;
} kinds[] = {
	{ "w-cycle", in_cycle, { 0 } },
	{ "w-futex", in_semaphore, { 0 } },
	{ "w-poll", in_poll, { 0 } },
	{ "w-epoll", in_epoll, { 0 } },
	{ "w-sleep", in_sleep, { 0 } },
	{ "w-relative", in_relative_sleep, { 0 } },
	{ "w-read", in_read, { 0 } },
	{ "w-accept", in_accept, { 0 } },
	{ "w-wait", in_wait, { 0 } },
	{ "w-vfork", in_vfork, { 0 } },
	{ "q\"\\ \x01(x) S 1", in_unknown_call, { 0 } },
	{ "w-spin", spinning, { 0 } },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void
begin(unsigned kind)
{
	clock_gettime(CLOCK_MONOTONIC, &kinds[kind].began);
}

static void *
run(void *argument)
{
	struct kind *kind = argument;

	pthread_setname_np(pthread_self(), kind->name);
	begin((unsigned)(kind - kinds));
	kind->run();
	returned = 1;
	return NULL;
}

static void
tell(void)
{
	struct timespec now;

	for (unsigned i = 0; i < KINDS; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		printf("%s %lld\n", kinds[i].name,
		       (now.tv_sec - kinds[i].began.tv_sec) * 1000000000LL +
			       (now.tv_nsec - kinds[i].began.tv_nsec));
	}
	printf("told\n");
	fflush(stdout);
}

int
main(void)
{
	pthread_t thread;
	char c;

	sem_init(&never, 0, 0);
	sem_init(&kicked, 0, 0);
	if (pipe(silent_pipe) || pipe(end_pipe) || pipe(cycle_pipe))
		abort();
	for (unsigned i = 0; i < KINDS; i++)
		if (pthread_create(&thread, NULL, run, &kinds[i]))
			abort();
	usleep(300000);
	printf("ready\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0) {
		if (c == 't')
			tell();
		if (c != 'k')
			continue;
		(void)!write(cycle_pipe[1], "k", 1);
		sem_wait(&kicked);
		printf("kicked\n");
		fflush(stdout);
	}
	_exit(returned);
}
