/* SPDX-License-Identifier: Apache-2.0 */
/*
 * surroundings.h - what a dump child gets from the process it is made in, and
 * what it gives up of that: namespaces, descriptors, limits, scheduling.
 */
#ifndef HEAPAGENT_SURROUNDINGS_H
#define HEAPAGENT_SURROUNDINGS_H

#include <stdbool.h>

/* True if orphans of this process come back to it. [signal] */
bool surroundings_adopt_orphans(void);

/*
 * True if a child of this process would be the first of a new PID namespace:
 * its end would kill what the host puts in there after it (unshare(2)).
 * [signal]
 */
bool surroundings_new_pid_namespace(void);

/* In a child that shares the host's table of descriptors: gets an empty one of
 * its own where the kernel has that. [dump] */
void surroundings_share_no_descriptor(void);

/* Closes all descriptors; from here on there is no core dump. [dump] */
void surroundings_leave(void);

/* From here on it takes only the processors' spare time, of any of them.
 * [dump] */
void surroundings_yield(void);

#endif
