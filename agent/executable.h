/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executable.h - the path of the program that runs, as its user would say it.
 *
 * /proc/self/exe has every link resolved: Debian's redis-server is a link to
 * redis-check-rdb. So the path that was executed (AT_EXECFN) is taken where
 * it leads to the same file; a script's does not, nor does one that was
 * started through the loader.
 */
#ifndef HEAPAGENT_EXECUTABLE_H
#define HEAPAGENT_EXECUTABLE_H

#include <stddef.h>

/*
 * Writes the absolute path, terminated; "" if there is none to be found or it
 * is too long. [init]
 */
void executable_path(char *path, size_t size_bytes);

#endif
