/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_profile.h - the meaning of the threads profile: how many threads of
 * one name stand on one stack in one state.
 */
#ifndef HEAPAGENT_THREAD_PROFILE_H
#define HEAPAGENT_THREAD_PROFILE_H

#include "arena.h"
#include "pprof.h"
#include "threads.h"

/* Threads that are equal in stack, name and state. */
struct thread_group {
	const struct thread_record *first;
	unsigned count;
};

struct thread_groups {
	struct thread_group *groups; /* in the order of their first threads */
	unsigned count;
};

/* Groups the records that have a stack. 0 or -ENOMEM. [dump] */
int thread_groups_make(struct thread_groups *groups, struct arena *arena,
		       const struct threads *threads);

/* What thread_groups_make() takes from the arena for count threads. [any] */
size_t thread_groups_arena_bytes(unsigned count);

/* The frames of all groups together. [any] */
size_t thread_groups_frames(const struct thread_groups *groups);

/* Sample type, period, and a sample for each group. [dump] */
void thread_profile_write(struct pprof *pprof,
			  const struct thread_groups *groups);

#endif
