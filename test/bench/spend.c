/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spend.c - what a command takes:
 *
 *	spend SECONDS COMMAND...
 *
 * Prints its processor time (user and system, with waited-for children) in
 * seconds, the most memory that it or a child had resident, in MiB, and
 * "done", or "stopped" where it would have taken more than SECONDS (0: any)
 * of processor time. Its own output is thrown away.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void
child(rlim_t seconds, char **command)
{
	/* Soft and hard alike: SIGKILL, which no runtime takes. */
	struct rlimit limit = { seconds, seconds };

	if (seconds)
		setrlimit(RLIMIT_CPU, &limit);
	dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
	execvp(command[0], command);
	perror(command[0]);
	_exit(127);
}

static double
seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

int
main(int argc, char **argv)
{
	struct rusage usage;
	int status, stopped;
	double cpu, limit;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: spend SECONDS COMMAND...\n");
		return 2;
	}
	limit = atof(argv[1]);
	pid = fork();
	if (pid == 0)
		child((rlim_t)limit, argv + 2);
	wait4(pid, &status, 0, &usage);
	cpu = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
	/* A parent that the limit does not reach fails with its child. The
	 * kernel counts a little otherwise for it than for the usage. */
	stopped = status != 0 && limit > 0 && cpu >= 0.9 * limit;
	if (!stopped && status != 0) {
		fprintf(stderr, "spend: %s failed (status %d)\n", argv[2],
			status);
		return 1;
	}
	printf("%.3f %.1f %s\n", cpu, (double)usage.ru_maxrss / 1024,
	       stopped ? "stopped" : "done");
	return 0;
}
