/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.h - system calls that return how many bytes they have transferred:
 * a part, if a signal or a stop by ptrace comes in between. Where a second call
 * for the rest blocks or fails only where the first would have done so, too,
 * it makes up for that. Calls with lists of buffers are not among them; but
 * io_uring_enter() is, which returns what it has submitted, and may have more
 * to wait for.
 */
#ifndef HEAPAGENT_TRANSFER_H
#define HEAPAGENT_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

/* True of the calls that can be made again for the rest. [any] */
bool transfer_is_known(long nr);

/* True if the call, of the process pid, has returned a part of what it was
 * asked for, and can be made again for the rest. [any] */
bool transfer_is_part(int pid, long nr, const uint64_t *arguments, long result);

/* Makes the arguments of such a call those of the rest. [any] */
void transfer_advance(long nr, uint64_t *arguments, long result);

#endif
