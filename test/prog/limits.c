/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.c - holds 10 blocks of 12345 bytes, makes its own surroundings bad in
 * the way that its first argument says, asks for a dump, makes them good again
 * as far as that goes, and asks for a second one. DIR is HEAPAGENT_DIR.
 *
 *	none			nothing
 *	umask MASK		(octal)
 *	chroot DIRECTORY	where DIR is not
 *	setuid UID		gives up root for good
 *	nproc UID		the same, and may have no more processes
 *	fsize BYTES		RLIMIT_FSIZE, and back
 *	nofile			RLIMIT_NOFILE of 3, and back
 *	as			RLIMIT_AS of 0, and back
 *	stack			RLIMIT_STACK of 64 KiB, and back
 *	core			RLIMIT_CORE of 0 and not dumpable, and back
 *	symlink TARGET		DIR has links of the dump's names to TARGET
 *	rename			DIR is moved away, and back
 *	rmdir			DIR is removed, and not put back
 *	cwd			changes to / and back
 *	wait			reads a line before each dump
 *
 * Signals that came and errors of its own end it with another status than 0.
 * Prints "unhurt". A second thread sleeps.
 */
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS 10
#define SIZE 12345

static void *volatile held[BLOCKS];
static char moved[4096];
static struct rlimit before;
static int limited = -1;

static void
require(int holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(2);
}

static void
dump(void)
{
	struct timespec left = { 0, 300000000 };

	kill(getpid(), SIGUSR2);
	while (nanosleep(&left, &left) != 0)
		;
}

static __attribute__((noinline)) void
hold(void)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		held[i] = malloc(SIZE);
}

static void
limit(int which, rlim_t value)
{
	struct rlimit now;

	require(getrlimit(which, &before) == 0, "getrlimit");
	now = before;
	now.rlim_cur = value;
	require(setrlimit(which, &now) == 0, "setrlimit");
	limited = which;
}

static void
become(const char *uid)
{
	unsigned id = (unsigned)atoi(uid);

	require(setgroups(0, NULL) == 0, "setgroups");
	require(setgid(id) == 0, "setgid");
	require(setuid(id) == 0, "setuid");
}

static void
make_links(const char *target)
{
	static const char *const kinds[] = { "threads", "allocs", "heap" };
	char path[4096];

	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/limits.%d.0001.%s.pb.gz",
			 getenv("HEAPAGENT_DIR"), getpid(), kinds[i]);
		require(symlink(target, path) == 0, "symlink");
	}
}

static void
wait_for_line(void)
{
	char c;

	while (read(0, &c, 1) == 1 && c != '\n')
		;
}

static void
worsen(const char *what, const char *how)
{
	const char *dir = getenv("HEAPAGENT_DIR");

	if (strcmp(what, "umask") == 0)
		umask((mode_t)strtoul(how, NULL, 8));
	else if (strcmp(what, "chroot") == 0)
		require(chroot(how) == 0, "chroot");
	else if (strcmp(what, "setuid") == 0)
		become(how);
	else if (strcmp(what, "fsize") == 0)
		limit(RLIMIT_FSIZE, strtoul(how, NULL, 10));
	else if (strcmp(what, "nofile") == 0)
		limit(RLIMIT_NOFILE, 3);
	else if (strcmp(what, "as") == 0)
		limit(RLIMIT_AS, 0);
	else if (strcmp(what, "stack") == 0)
		limit(RLIMIT_STACK, 64 << 10);
	else if (strcmp(what, "symlink") == 0)
		make_links(how);
	else if (strcmp(what, "rmdir") == 0)
		require(rmdir(dir) == 0, "rmdir");
	else if (strcmp(what, "cwd") == 0)
		require(chdir("/") == 0, "chdir");
	else if (strcmp(what, "wait") == 0)
		wait_for_line();
	if (strcmp(what, "nproc") == 0) {
		become(how);
		limit(RLIMIT_NPROC, 1);
	}
	if (strcmp(what, "core") == 0) {
		limit(RLIMIT_CORE, 0);
		require(prctl(PR_SET_DUMPABLE, 0) == 0, "prctl");
	}
	if (strcmp(what, "rename") == 0) {
		snprintf(moved, sizeof(moved), "%s.moved", dir);
		require(rename(dir, moved) == 0, "rename");
	}
}

static void
mend(const char *what)
{
	if (limited >= 0)
		require(setrlimit((__rlimit_resource_t)limited, &before) == 0,
			"setrlimit");
	if (strcmp(what, "core") == 0)
		require(prctl(PR_SET_DUMPABLE, 1) == 0, "prctl");
	if (moved[0] != '\0')
		require(rename(moved, getenv("HEAPAGENT_DIR")) == 0, "rename");
	if (strcmp(what, "wait") == 0)
		wait_for_line();
}

static void *
sleep_long(void *argument)
{
	(void)argument;
	for (;;)
		pause();
	return NULL;
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "none";
	pthread_t thread;

	require(pthread_create(&thread, NULL, sleep_long, NULL) == 0,
		"pthread_create");
	hold();
	worsen(what, argc > 2 ? argv[2] : "");
	dump();
	mend(what);
	dump();
	printf("unhurt\n");
	return 0;
}
