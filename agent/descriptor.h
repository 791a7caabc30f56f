/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptor.h - what a file descriptor of a process is open for, that blocks.
 *
 * Of this process or of another, whose descriptor is copied for some
 * microseconds; the thread that waits for it holds the file open meanwhile.
 * No file system is waited for: that may take long.
 */
#ifndef HEAPAGENT_DESCRIPTOR_H
#define HEAPAGENT_DESCRIPTOR_H

#include <stdbool.h>

/* True of a socket of SOCK_STREAM. False, too, if that cannot be found out, or
 * there is a seccomp filter. [any] */
bool descriptor_is_stream(int pid, int fd);

/* True of a character device. False, too, if that cannot be found out, or there
 * is a filter. [any] */
bool descriptor_is_device(int pid, int fd);

/* True of a device that always has more to read: /dev/zero, /dev/urandom and
 * the like. False, too, if that cannot be found out, or there is a filter.
 * [any] */
bool descriptor_is_source(int pid, int fd);

/* True of a socket that has that time-out, SO_RCVTIMEO or SO_SNDTIMEO. False,
 * too, if that cannot be found out. [any] */
bool descriptor_times_out(int pid, int fd, int option);

#endif
