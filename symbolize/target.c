/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.c - where output goes; see target.h.
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "memory.h"

/* Who makes a named pipe starts both ends at about the same time. */
#define PIPE_WAIT_MS 10000
#define PIPE_STEP_MS 20
#define LINKS_MAX 40 /* as Linux */

static bool
is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool
target_is_output(const char *path)
{
	struct stat there, output;
	return !strcmp(path, "-") ||
	       (!stat(path, &there) && !fstat(STDOUT_FILENO, &output) &&
		is_same(&there, &output));
}

static char *
directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		return memory_string(".");
	return memory_format("%.*s", (int)(slash - path) + 1, path);
}

static bool
is_in_proc(const char *directory)
{
	struct statfs system;
	return !statfs(directory, &system) && system.f_type == PROC_SUPER_MAGIC;
}

/*
 * One link further. False at the end of all links, or at one of /proc: that
 * leads to an open file, whatever its text says.
 */
static bool
follow(char **path, bool *in_proc)
{
	char text[PATH_MAX + 1];
	ssize_t bytes = readlink(*path, text, PATH_MAX);
	if (bytes <= 0)
		return false;
	text[bytes] = '\0';
	char *directory = directory_of(*path);
	*in_proc = is_in_proc(directory);
	if (!*in_proc) {
		free(*path);
		*path = *text == '/' ? memory_string(text)
				     : memory_format("%s/%s", directory, text);
	}
	free(directory);
	return !*in_proc;
}

static mode_t
new_mode(void)
{
	mode_t mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

/* Gives the file the owner of the old one. The mode that it may have, too. */
static mode_t
take_over(int fd, const struct stat *old)
{
	mode_t mode = old->st_mode & 0777;
	struct stat now;
	/* Only root may give files away: others then own the new one, */
	if (fchown(fd, old->st_uid, old->st_gid) &&
	    fchown(fd, (uid_t)-1, old->st_gid) && !fstat(fd, &now) &&
	    now.st_gid != old->st_gid)
		/* and another group has no rights that it had not. */
		mode &= ~(mode_t)S_IRWXG;
	return mode;
}

/* A negative errno, or the file that is to replace target->path. */
static int
open_beside(struct target *target)
{
	struct stat old;
	bool exists = !stat(target->path, &old);
	if (exists && faccessat(AT_FDCWD, target->path, W_OK, AT_EACCESS))
		return -errno;
	target->temporary = memory_format("%s.XXXXXX", target->path);
	int fd = mkostemp(target->temporary, O_CLOEXEC);
	if (fd < 0) {
		int status = -errno;
		free(target->temporary);
		target->temporary = NULL;
		return status;
	}
	fchmod(fd, exists ? take_over(fd, &old) : new_mode());
	return fd;
}

/* Without waiting for ever for who reads a pipe. */
static int
open_in_place(const char *path)
{
	int fd, waited = 0;
	if (target_is_output(path))
		return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	while ((fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) <
		       0 &&
	       errno == ENXIO && waited < PIPE_WAIT_MS) {
		usleep(PIPE_STEP_MS * 1000);
		waited += PIPE_STEP_MS;
	}
	if (fd >= 0)
		fcntl(fd, F_SETFL, 0);
	return fd;
}

int
target_open(struct target *target, const char *path)
{
	struct stat status;
	bool in_proc = false;
	*target = (struct target){ .path = memory_string(path) };
	int links = 0;
	while (links <= LINKS_MAX && follow(&target->path, &in_proc))
		links++;
	if (links > LINKS_MAX) {
		free(target->path);
		return -ELOOP;
	}
	if (!strcmp(path, "-") || in_proc ||
	    (!stat(path, &status) && !S_ISREG(status.st_mode))) {
		free(target->path);
		target->path = NULL;
		target->fd = open_in_place(path);
		return target->fd < 0 ? -errno : 0;
	}
	target->fd = open_beside(target);
	if (target->fd >= 0)
		return 0;
	free(target->path);
	return target->fd;
}

int
target_close(struct target *target, int status)
{
	if (close(target->fd) && !status)
		status = -errno;
	if (!target->path)
		return status;
	if (!status && rename(target->temporary, target->path))
		status = -errno;
	if (status)
		unlink(target->temporary);
	free(target->temporary);
	free(target->path);
	return status;
}
