/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.c - starts other programs in every way there is, while a thread
 * allocates: system, popen, posix_spawn, vfork with exec and with _exit,
 * fork with exec. Prints the result of each kind.
 *
 *	spawn ROUNDS
 */
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static atomic_bool done;

static void *
churn(void *unused)
{
	(void)unused;
	while (!done) {
		void *volatile p = malloc(100);

		free(p);
	}
	return NULL;
}

static int
status_of(pid_t pid)
{
	int status = -1;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

static int
by_popen(void)
{
	FILE *file = popen("echo 5; cat /dev/null", "r");
	int number = -1;

	if (file == NULL || fscanf(file, "%d", &number) != 1)
		return -1;
	return pclose(file) == 0 ? number : -2;
}

static int
by_posix_spawn(void)
{
	static char sh[] = "sh", c[] = "-c", exit_6[] = "exit 6";
	static char *arguments[] = { sh, c, exit_6, NULL };
	pid_t pid;

	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, environ) != 0)
		return -1;
	return status_of(pid);
}

static int
by_vfork_exec(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exit 7", NULL);
		_exit(100);
	}
	return status_of(pid);
}

/* The child allocates in our memory, as it must not, but as many do. */
static int
by_vfork_exit(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		void *volatile p = malloc(5000);

		free(p);
		_exit(8);
	}
	return status_of(pid);
}

static int
by_fork_exec(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exit 9", NULL);
		_exit(100);
	}
	return status_of(pid);
}

int
main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	int sums[6] = { 0 };
	pthread_t thread;

	pthread_create(&thread, NULL, churn, NULL);
	for (int i = 0; i < rounds; i++) {
		sums[0] += WEXITSTATUS(system("exit 4"));
		sums[1] += by_popen();
		sums[2] += by_posix_spawn();
		sums[3] += by_vfork_exec();
		sums[4] += by_vfork_exit();
		sums[5] += by_fork_exec();
	}
	done = 1;
	pthread_join(thread, NULL);
	for (int i = 0; i < 6; i++)
		printf("%d\n", sums[i]);
	if (waitpid(-1, NULL, WNOHANG | __WALL) != -1)
		puts("a child is left");
}
