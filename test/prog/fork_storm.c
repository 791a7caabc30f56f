/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork_storm.c - forks while three threads allocate. Each child allocates,
 * forks a child of its own now and then, asks itself for a dump, and exits.
 *
 *	fork_storm CHILDREN
 *
 * A child holds 7 blocks of 1234 bytes when it asks; a grandchild 9 of them.
 * Prints the sum of the exit statuses.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 3
#define SLOTS 500

static atomic_bool done;
static void *child_held[16];

static __attribute__((noinline)) void *
churn_take(size_t size)
{
	void *volatile p = malloc(size);

	return p;
}

static void *
churn(void *seed)
{
	unsigned state = (unsigned)(size_t)seed;
	void *slots[SLOTS] = { 0 };

	while (!done) {
		unsigned i = (state = state * 1103515245 + 12345) >> 16;

		free(slots[i % SLOTS]);
		slots[i % SLOTS] = churn_take(i % 3000);
	}
	for (unsigned i = 0; i < SLOTS; i++)
		free(slots[i]);
	return NULL;
}

static __attribute__((noinline)) void
child_take(int index)
{
	child_held[index] = malloc(1234);
	if (child_held[index] == NULL)
		_exit(99);
}

static int
wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return 1000;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000000;
}

/* What the child does; its exit status. */
static int
child(int index)
{
	int status = 3;

	for (int i = 0; i < 7; i++)
		child_take(i);
	if (index % 8 == 0) {
		pid_t pid = fork();

		if (pid == 0) {
			child_take(7);
			child_take(8);
			raise(SIGUSR2);
			_exit(2);
		}
		status += wait_for(pid);
	}
	for (int i = 0; i < 300; i++)
		free(churn_take((size_t)i * 10));
	raise(SIGUSR2);
	return status;
}

int
main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 10;
	pthread_t threads[THREADS];
	struct sigaction action;
	int statuses = 0;

	/* What asks for a dump would be the end, without the agent. */
	sigaction(SIGUSR2, NULL, &action);
	if (action.sa_handler == SIG_DFL)
		signal(SIGUSR2, SIG_IGN);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, churn, (void *)(i + 1));
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(child(i));
		statuses += wait_for(pid);
	}
	done = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (waitpid(-1, NULL, WNOHANG | __WALL) != -1)
		puts("a child is left");
	printf("%d\n", statuses);
}
