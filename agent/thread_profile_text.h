/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_profile_text.h - the threads profile as text: for a person, and in
 * the form that go tool pprof knows from Go's own goroutine profile.
 */
#ifndef HEAPAGENT_THREAD_PROFILE_TEXT_H
#define HEAPAGENT_THREAD_PROFILE_TEXT_H

#include "text_profile.h"
#include "thread_profile.h"

/* The first line, with the sum, and a block for each thread. [dump] */
void thread_profile_text_write(struct text_profile *profile,
			       const struct threads *threads);

#endif
