/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracker.h - what happens to a sampled block: the one place where sampler,
 * unwinder, stacks and the live table meet.
 */
#ifndef HEAPAGENT_TRACKER_H
#define HEAPAGENT_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live.h"
#include "unwind.h"

/* In a forked child: buffers that other threads held are free. [any] */
void tracker_fork_child(void);

/*
 * Before an allocation of so many bytes for which the countdown ran out: true
 * if it is sampled. The countdown starts anew. errno is kept. [hook]
 */
bool tracker_due(size_t size_bytes);

/*
 * The next allocator is not libc's, and may serve a call by one of ours: then
 * that one counts, and not the call around it. [init]
 */
void tracker_watch_nested(void);

/*
 * After an allocation that tracker_due() was asked about, with its answer:
 * records the block if it is sampled. p may be NULL (it failed:
 * there is nothing to record). frame is the frame address of the hook: the
 * saved frame pointer, then the return address into the program. errno is
 * kept. [hook]
 */
void tracker_allocated(const void *p, size_t size_bytes, const uintptr_t *frame,
		       bool due);

/*
 * Takes a block out of the live table, before the real free or realloc gets
 * it. False if it is not sampled. [hook]
 */
bool tracker_detach(const void *p, struct live_block *block);

/* The detached block is gone: its stack is credited. [hook] */
void tracker_freed(const struct live_block *block);

/* The detached block is still there: a realloc failed. [hook] */
void tracker_attach(const void *p, const struct live_block *block);

#endif
