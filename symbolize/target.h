/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.h - where output goes: a whole file or none, or what cannot be
 * replaced.
 *
 * A file is written under a temporary name beside it and renamed when it is
 * whole; it keeps the mode and, where that may be, the owner of the one that
 * it replaces, a new one has the mode that the umask leaves. A link stays:
 * what it leads to is replaced. Pipes, terminals, devices and what a link in
 * /proc leads to (/dev/stdout) are written in place.
 */
#ifndef HEAPAGENT_TARGET_H
#define HEAPAGENT_TARGET_H

#include <stdbool.h>

struct target {
	int fd;
	char *path; /* of the file to replace; NULL: written in place */
	char *temporary;
};

/* "-" is standard output. 0 or a negative errno; -ENXIO: a pipe without
 * reader. */
int target_open(struct target *target, const char *path);

/* With what writing came to: 0, or a negative errno, and nothing is left. */
int target_close(struct target *target, int status);

/* Whether the path leads to where standard output goes. */
bool target_is_output(const char *path);

#endif
