/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_profile.h - the meaning of the threads profile: a sample for each
 * thread, of value 1, labelled
 *
 *	thread	its name
 *	state	what it does, in words
 *	tid	its number
 *	blocked	for how long, in nanoseconds, where that is known
 */
#ifndef HEAPAGENT_THREAD_PROFILE_H
#define HEAPAGENT_THREAD_PROFILE_H

#include "pprof.h"
#include "threads.h"

/* The threads that have a stack; the others have ended. [any] */
size_t thread_profile_count(const struct threads *threads);
/* All their frames. [any] */
size_t thread_profile_frames(const struct threads *threads);

/* Sample type, period, and the samples. [dump] */
void thread_profile_write(struct pprof *pprof, const struct threads *threads);

#endif
