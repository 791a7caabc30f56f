/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repeat.h - an interrupted system call made again whose second result is not
 * what the first one's would have been.
 *
 *	connect()          says EALREADY, not EINPROGRESS, when the time-out of
 *	                   the socket is over: the first has begun to connect
 *	a transfer         has done a part, which a signal makes it return; the
 *	                   second does the rest, and returns how much that is
 *
 * So the thread makes the call in code of ours, which puts the result right and
 * goes on after the host's own system call instruction. What it needs lies in a
 * block on the thread's stack, and is gone with the call. While the thread
 * waits it can be stopped, signalled, cancelled, and leave by longjmp, as in
 * the host's code; a profile shows it there (repeat_registers()).
 *
 * That a first connect() was itself a second one nothing tells: one that has
 * said EALREADY without us says EINPROGRESS then.
 */
#ifndef HEAPAGENT_REPEAT_H
#define HEAPAGENT_REPEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/x86_64_context.h"
#include "unwind.h"

/* Bytes of the block. Its address is a multiple of 8. */
#define REPEAT_BLOCK_BYTES 72

/*
 * Changes the call, which has returned -EINTR (connect) or a part of what it
 * was to transfer (transfer.h), so that its thread makes it again in our code.
 * The block is put at the address given, below which the thread's stack begins
 * then. False if that memory cannot be written, and nothing was changed. [any]
 */
bool repeat_call(struct arch_call *call, long nr, uintptr_t block);

/* The number of the call that a thread in our code makes; -1: it is not in our
 * code, or not in the call. [any] */
long repeat_number(uintptr_t ip, uintptr_t sp);

/* Makes registers of a thread in our code those of the call that it was made
 * for. cx is its rcx; 0: it is blocked. [any] */
void repeat_registers(struct unwind_registers *registers, uintptr_t cx);

#endif
