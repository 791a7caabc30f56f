/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptor.h - what a file descriptor of a process is open for, that blocks.
 *
 * Of this process or of another, whose socket is copied for some microseconds;
 * the thread that waits for it holds it open meanwhile. No file system is
 * waited for: that may take long. Under a seccomp filter, which may end who
 * asks, nothing is found out.
 */
#ifndef HEAPAGENT_DESCRIPTOR_H
#define HEAPAGENT_DESCRIPTOR_H

#include <stdbool.h>

/*
 * True if a thread that waits for it would notice an interruption: of a socket
 * that has that time-out (SO_RCVTIMEO or SO_SNDTIMEO), which would begin anew,
 * and of a device (a terminal with VMIN), whose read may have got a part of
 * what it waits for. True, too, if that cannot be found out. [any]
 */
bool descriptor_may_notice(int pid, int fd, int option);

#endif
