/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - a profile's file: complete under its name, or not there at all.
 *
 * Written under a random temporary name in the same directory (O_CREAT,
 * O_EXCL, O_NOFOLLOW, O_CLOEXEC, mode 0600 whatever the umask), then linked to
 * its final name without replacing a file that is there (renameat2 with
 * RENAME_NOREPLACE, or link and unlink where that is not supported).
 */
#ifndef HEAPAGENT_FILE_H
#define HEAPAGENT_FILE_H

#include <stddef.h>

#define FILE_PATH_MAX 4352

struct file {
	int fd; /* -1: not open */
	char temporary[FILE_PATH_MAX];
	char path[FILE_PATH_MAX];
};

/* Creates the temporary file for path (absolute). 0 or -errno. [dump] */
int file_create(struct file *file, const char *path);
/*
 * Publishes it under its name. 0 or -errno (-EEXIST: the name is taken); on
 * failure the temporary file is removed. [dump]
 */
int file_publish(struct file *file);
/* Removes the temporary file. Safe in a fault handler, any number of times. */
void file_discard(struct file *file);

#endif
