/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alone.c - a process of one thread looks at itself, before and after many
 * dumps: threads, descriptors, children, signal mask, what the C library
 * thinks of its threads; then does what needs a process of one thread.
 *
 *	alone MILLISECONDS
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int
entries_of(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	while (dir != NULL && readdir(dir) != NULL)
		count++;
	if (dir != NULL)
		closedir(dir);
	return count;
}

static void
print_status(const char *name)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			fputs(line, stdout);
	fclose(file);
}

static void
look(const char *when)
{
	sigset_t pending;

	printf("%s: %d descriptors, %d tasks, single %d, child %d\n", when,
	       entries_of("/proc/self/fd"), entries_of("/proc/self/task"),
	       (int)__libc_single_threaded,
	       (int)waitpid(-1, NULL, WNOHANG | __WALL));
	print_status("SigBlk");
	print_status("SigIgn");
	sigpending(&pending);
	printf("alternate stack: ");
	for (int signal = 1; signal < 65; signal++)
		if (sigismember(&pending, signal) == 1)
			printf("pending %d ", signal);
	stack_t stack;

	sigaltstack(NULL, &stack);
	printf("%d\n", stack.ss_flags);
}

static void
allocate_for(long ms)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (size_t i = 0; i < 1000; i++) {
			void *volatile p = malloc(i);

			free(p);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 +
			 (now.tv_nsec - begin.tv_nsec) / 1000000 <
		 ms);
}

int
main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 100;

	look("before");
	allocate_for(ms);
	look("after");
	errno = 0;
	printf("unshare: %d %s\n", unshare(CLONE_NEWUSER), strerror(errno));
	allocate_for(ms / 2);
	look("in a new user namespace");
	fflush(stdout);
	/* Ends as by default. */
	raise(SIGTERM);
	puts("still there");
}
