/* SPDX-License-Identifier: Apache-2.0 */
/*
 * surroundings.c - see surroundings.h. Under a filter only calls that a plain
 * program makes; where one is refused, that part stays as it was.
 */
#include "surroundings.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "sandbox.h"
#include "sys.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
/* Numbers without a list of them; what a process has by default at most. */
#define DESCRIPTORS_BLIND 4096
/* CONFIG_NR_CPUS of the largest kernels. */
#define PROCESSORS_MAX 8192

bool
surroundings_adopt_orphans(void)
{
	int subreaper = 0;

	if (sys_getpid() == 1)
		return true;
	(void)sys_call5(SYS_prctl, PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0);
	return subreaper != 0;
}

bool
surroundings_new_pid_namespace(void)
{
	char own[64], next[64];
	long a = sys_call4(SYS_readlinkat, -1, "/proc/thread-self/ns/pid", own,
			   sizeof(own));
	long b = sys_call4(SYS_readlinkat, -1,
			   "/proc/thread-self/ns/pid_for_children", next,
			   sizeof(next));

	/* A namespace that has no first process yet has no name yet either. */
	if (sys_failed(a) || sys_failed(b))
		return !sys_failed(a);
	return a != b || memcmp(own, next, (size_t)a) != 0;
}

void
surroundings_share_no_descriptor(void)
{
	if (!sandbox_at_start())
		(void)sys_call3(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE);
}

/* By the list of them; false: there is none. */
static bool
close_listed(void)
{
	struct sys_directory directory;
	const char *name;
	int fd = sys_open("/proc/self/fd", O_RDONLY | O_DIRECTORY, 0);

	if (fd < 0)
		return false;
	sys_directory_begin(&directory, fd);
	while ((name = sys_directory_next(&directory)) != NULL)
		if (name[0] != '.' && sys_decimal(name) != fd)
			sys_close(sys_decimal(name));
	sys_close(fd);
	return true;
}

static void
close_descriptors(void)
{
	/* A filter that was there before may not know it, and end us. */
	if (!sandbox_at_start() &&
	    !sys_failed(sys_call3(SYS_close_range, 0, ~0U, 0)))
		return;
	if (close_listed())
		return;
	for (int fd = 0; fd < DESCRIPTORS_BLIND; fd++)
		sys_close(fd);
}

void
surroundings_leave(void)
{
	const struct rlimit no_core = { 0, 0 };

	close_descriptors();
	(void)sys_call4(SYS_prlimit64, 0, RLIMIT_CORE, &no_core, NULL);
}

void
surroundings_yield(void)
{
	const struct sched_param normal = { 0 };
	uint64_t all[PROCESSORS_MAX / 64];

	/* Few programs do this, so a filter may not know it. */
	if (sandbox_at_start())
		return;
	if (sys_call1(SYS_sched_getscheduler, 0) != SCHED_OTHER)
		(void)sys_call3(SYS_sched_setscheduler, 0, SCHED_OTHER,
				&normal);
	/* Of these the kernel takes those that there are for us. */
	memset(all, 0xff, sizeof(all));
	(void)sys_call3(SYS_sched_setaffinity, 0, sizeof(all), all);
}
