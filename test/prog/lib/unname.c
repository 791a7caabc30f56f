/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unname.c - preloaded, takes its name from the agent's region when SIGHUP
 * comes, as a kernel without CONFIG_ANON_VMA_NAME never gives it one. (A
 * debugger that calls prctl() cannot on every processor.)
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define VMA 0x53564d41 /* PR_SET_VMA, of a newer linux/prctl.h */
#define LINES_BYTES (256 << 10)

static char lines[LINES_BYTES];

static void
take_names(int signal)
{
	int fd = open("/proc/self/maps", O_RDONLY);
	size_t used = 0;
	ssize_t r;

	(void)signal;
	while ((r = read(fd, lines + used, sizeof(lines) - 1 - used)) > 0)
		used += (size_t)r;
	close(fd);
	for (char *line = lines, *end; (end = strchr(line, '\n')) != NULL;
	     line = end + 1) {
		char *rest;
		unsigned long base = strtoul(line, &rest, 16);

		*end = '\0';
		if (strstr(line, "[anon:heapagent") != NULL)
			prctl(VMA, 0, base, strtoul(rest + 1, NULL, 16) - base,
			      0);
	}
}

static __attribute__((constructor)) void
await(void)
{
	signal(SIGHUP, take_names);
}
