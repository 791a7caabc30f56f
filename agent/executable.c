/* SPDX-License-Identifier: Apache-2.0 */
/* executable.c - finds the running program's path; see executable.h. */
#include "executable.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "sys.h"

static const char link_name[] = "/proc/self/exe";

static bool
same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return sys_call4(SYS_newfstatat, AT_FDCWD, a, &sa, 0) == 0 &&
	       sys_call4(SYS_newfstatat, AT_FDCWD, b, &sb, 0) == 0 &&
	       sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/* The executed path made absolute. False if it does not fit. */
static bool
executed_path(char *path, size_t size_bytes)
{
	const char *name = (const char *)getauxval(AT_EXECFN);
	size_t used = 0;

	if (name == NULL)
		return false;
	while (name[0] == '.' && name[1] == '/')
		name += 2;
	if (name[0] != '/') {
		/* The result counts the terminator. */
		long r = sys_call2(SYS_getcwd, path, size_bytes);

		if (r <= 1 || path[0] != '/')
			return false;
		used = (size_t)r - 1;
		if (path[used - 1] != '/')
			path[used++] = '/';
	}
	if (used + strlen(name) >= size_bytes)
		return false;
	strcpy(path + used, name);
	return true;
}

void
executable_path(char *path, size_t size_bytes)
{
	long r;

	if (executed_path(path, size_bytes) && same_file(path, link_name))
		return;
	r = sys_call4(SYS_readlinkat, AT_FDCWD, link_name, path,
		      size_bytes - 1);
	path[r > 0 ? r : 0] = '\0';
}
