/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vforks.c - a thread that waits for its child, as after vfork(), in a sleep
 * that no signal and no tracer interrupts, until standard input ends. Says
 * "ready". Ends with 0 if the child's status is what it should be.
 *
 * CFLAGS: -O0
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];

static int
child(void *unused)
{
	char c;

	(void)unused;
	/* Or it would outlive a parent that is killed. */
	close(ends[1]);
	(void)!read(ends[0], &c, 1);
	_exit(7);
}

/* As posix_spawn() does it. */
static pid_t
in_vfork(void)
{
	static char stack[64 << 10] __attribute__((aligned(16)));

	return clone(child, stack + sizeof(stack),
		     CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
}

static void *
run(void *result)
{
	pthread_setname_np(pthread_self(), "t-vfork");
	if (waitpid(in_vfork(), result, 0) < 0)
		abort();
	return NULL;
}

int
main(void)
{
	pthread_t thread;
	int result = -1;
	char c;

	if (pipe(ends) != 0 || pthread_create(&thread, NULL, run, &result) != 0)
		return 2;
	usleep(300000);
	printf("ready\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	if (write(ends[1], "x", 1) != 1)
		return 2;
	pthread_join(thread, NULL);
	return !WIFEXITED(result) || WEXITSTATUS(result) != 7;
}
