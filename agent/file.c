/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.c - a file that is complete or not there; see file.h.
 *
 * temporary[0] says whether there is anything to remove: it is set once the
 * file was created by us, and cleared when it has its final name or is gone.
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "sys.h"

#define RENAME_NO_REPLACE 1 /* RENAME_NOREPLACE, linux/fs.h */
#define MODE_OWNER_ONLY 0600
/* A name of 64 random bits is taken once in never; more tries are a bug. */
#define NAME_TRIES 4

static const char name_prefix[] = ".heapagent.";
static const char name_suffix[] = ".tmp";
#define NAME_RANDOM_CHARS 16

/* dir/.heapagent.0123456789abcdef.tmp, for the path dir/name. */
static int
make_temporary(char *temporary, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t directory_bytes = slash == NULL ? 0 : (size_t)(slash - path) + 1;
	uint64_t random;
	char *p = temporary;

	if (directory_bytes + sizeof(name_prefix) + NAME_RANDOM_CHARS +
		    sizeof(name_suffix) >
	    FILE_PATH_MAX)
		return -ENAMETOOLONG;
	sys_random(&random, sizeof(random));
	memcpy(p, path, directory_bytes);
	p += directory_bytes;
	memcpy(p, name_prefix, sizeof(name_prefix) - 1);
	p += sizeof(name_prefix) - 1;
	for (int i = 0; i < NAME_RANDOM_CHARS; i++, random >>= 4)
		*p++ = "0123456789abcdef"[random & 15];
	memcpy(p, name_suffix, sizeof(name_suffix));
	return 0;
}

static int
create_temporary(struct file *file)
{
	int fd = -EEXIST;

	for (int i = 0; i < NAME_TRIES && fd == -EEXIST; i++) {
		fd = make_temporary(file->temporary, file->path);
		if (fd < 0)
			break;
		fd = sys_open(file->temporary,
			      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
				      O_CLOEXEC,
			      MODE_OWNER_ONLY);
	}
	/* Whatever has that name is not ours to remove. */
	if (fd < 0)
		file->temporary[0] = '\0';
	return fd;
}

int
file_create(struct file *file, const char *path)
{
	size_t path_bytes = strlen(path) + 1;
	int r;

	file->fd = -1;
	file->temporary[0] = '\0';
	if (path_bytes > sizeof(file->path))
		return -ENAMETOOLONG;
	memcpy(file->path, path, path_bytes);
	r = create_temporary(file);
	if (r < 0)
		return r;
	file->fd = r;
	/* A umask may have taken bits away, even the owner's. */
	r = (int)sys_call2(SYS_fchmod, file->fd, MODE_OWNER_ONLY);
	if (r < 0)
		file_discard(file);
	return r;
}

/* Gives the file its name, which nothing may have yet. */
static int
take_name(const struct file *file)
{
	long r = sys_call5(SYS_renameat2, AT_FDCWD, file->temporary, AT_FDCWD,
			   file->path, RENAME_NO_REPLACE);

	if (r != -EINVAL && r != -ENOSYS)
		return (int)r;
	/* A file system (NFS) or a kernel without the flag. */
	r = sys_call5(SYS_linkat, AT_FDCWD, file->temporary, AT_FDCWD,
		      file->path, 0);
	if (r == 0)
		(void)sys_call3(SYS_unlinkat, AT_FDCWD, file->temporary, 0);
	return (int)r;
}

int
file_publish(struct file *file)
{
	/* Some file systems find out only now that the disk is full. */
	int r = sys_close(file->fd);

	file->fd = -1;
	/* EINTR: Linux has closed it all the same (close(2)). */
	if (r == 0 || r == -EINTR)
		r = take_name(file);
	if (r < 0)
		file_discard(file);
	else
		file->temporary[0] = '\0';
	return r;
}

void
file_discard(struct file *file)
{
	if (file->temporary[0] == '\0')
		return;
	(void)sys_call3(SYS_unlinkat, AT_FDCWD, file->temporary, 0);
	file->temporary[0] = '\0';
	if (file->fd >= 0)
		sys_close(file->fd);
	file->fd = -1;
}
