/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair.c - one command under two environments, in turn, so that what else the
 * machine does hits both alike:
 *
 *	pair [-f|-w] RUNS NAME=VALUE... -- COMMAND...
 *
 * Side A runs without the settings, side B with them; which goes first
 * changes from pair to pair, and one pair before the first is not counted.
 * Prints five figures:
 *
 *	median of B/A   its 95 % interval (low high)   median of A, of B - A
 *
 * of the processor time (user and system, with waited-for children) in
 * microseconds; with -w of the time passed; with -f of the number that the
 * command prints. The interval is that of the median's order statistics.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

#define RUNS_MAX 4000

static enum { CPU, WALL, FIGURE } measured = CPU;
static char **settings;
static int setting_count;
static char **command;

static void
child(int output, int with_settings)
{
	for (int i = 0; with_settings && i < setting_count; i++)
		putenv(settings[i]);
	dup2(output, STDOUT_FILENO);
	execvp(command[0], command);
	perror(command[0]);
	_exit(127);
}

static double
microseconds(struct timeval time)
{
	return (double)time.tv_sec * 1e6 + (double)time.tv_usec;
}

static double
number_from(int fd)
{
	char text[64] = "";
	ssize_t used = 0, got;

	while ((got = read(fd, text + used, sizeof(text) - 1 - (size_t)used)) >
	       0)
		used += got;
	return atof(text);
}

static double
run(int with_settings)
{
	struct rusage usage;
	int64_t start = now_ns(), end;
	int status, output, ends[2];
	double figure = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		exit(1);
	output = measured == FIGURE ? ends[1] : open("/dev/null", O_WRONLY);
	pid = fork();
	if (pid == 0)
		child(output, with_settings);
	close(output);
	if (measured == FIGURE)
		figure = number_from(ends[0]);
	else
		close(ends[1]);
	close(ends[0]);
	wait4(pid, &status, 0, &usage);
	end = now_ns();
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "pair: %s failed (status %d)\n", command[0],
			status);
		exit(1);
	}
	if (measured == FIGURE)
		return figure;
	if (measured == WALL)
		return (double)(end - start) / 1e3;
	return microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
}

static void
report(const double *a, const double *b, int runs)
{
	static double ratios[RUNS_MAX], differences[RUNS_MAX], plain[RUNS_MAX];
	/* Half the width, in values, of the sign test's 95 % interval. */
	double half = 1.96 * sqrt(runs) / 2 / runs;

	for (int i = 0; i < runs; i++) {
		ratios[i] = b[i] / a[i];
		differences[i] = b[i] - a[i];
		plain[i] = a[i];
	}
	printf("%.4f %.4f %.4f %.1f %.1f\n", median(ratios, runs),
	       quantile(ratios, runs, fmax(0.5 - half, 0)),
	       quantile(ratios, runs, fmin(0.5 + half, 1)), median(plain, runs),
	       median(differences, runs));
}

int
main(int argc, char **argv)
{
	static double a[RUNS_MAX], b[RUNS_MAX];
	int at = 1, runs;

	for (; at < argc && argv[at][0] == '-'; at++)
		measured = argv[at][1] == 'f' ? FIGURE : WALL;
	runs = at < argc ? atoi(argv[at++]) : 0;
	settings = argv + at;
	while (at < argc && strcmp(argv[at], "--") != 0)
		at++;
	setting_count = (int)(argv + at - settings);
	command = argv + at + 1;
	if (runs < 1 || runs > RUNS_MAX || at + 1 >= argc) {
		fprintf(stderr, "usage: pair [-f|-w] RUNS NAME=VALUE... -- "
				"COMMAND...\n");
		return 2;
	}
	run(0);
	run(1);
	for (int i = 0; i < runs; i++) {
		if (i % 2 == 0)
			a[i] = run(0);
		b[i] = run(1);
		if (i % 2 != 0)
			a[i] = run(0);
	}
	report(a, b, runs);
	return 0;
}
