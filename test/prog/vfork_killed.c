/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfork_killed.c - children of vfork() that allocate until they are killed,
 * mostly within a sample at RATE=1, in the memory of this process's thread
 * (with lib/bump.c preloaded behind the agent). Then the thread itself, farther
 * up its stack, frees a block of before, holds 1,000 blocks of 1,000 bytes, and
 * asks for a dump.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILDREN 40
#define HELD 1000

static volatile pid_t victim;
static volatile int done;
static void *volatile held[HELD];

static void *
killer(void *unused)
{
	const struct timespec little = { .tv_nsec = 200000 };

	while (!done) {
		pid_t pid = victim;

		nanosleep(&little, NULL);
		if (pid != 0 && pid == victim) {
			victim = 0;
			kill(pid, SIGKILL);
		}
	}
	return unused;
}

static __attribute__((noinline)) void
allocate_for_ever(void)
{
	for (;;) {
		void *volatile p = malloc(1000);

		free(p);
	}
}

static __attribute__((noinline)) int
child_that_is_killed(void)
{
	int status = 0;
	pid_t pid = vfork();

	if (pid == 0) {
		victim = getpid();
		allocate_for_ever();
	}
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
}

int
main(void)
{
	pthread_t id;
	int killed = 0;

	held[0] = malloc(1000);
	if (pthread_create(&id, NULL, killer, NULL) != 0)
		return 1;
	for (int i = 0; i < CHILDREN; i++)
		killed += child_that_is_killed();
	done = 1;
	pthread_join(id, NULL);
	free(held[0]);
	for (int i = 0; i < HELD; i++)
		held[i] = malloc(1000);
	kill(getpid(), SIGUSR2);
	printf("%d\n", killed);
	return killed != CHILDREN;
}
