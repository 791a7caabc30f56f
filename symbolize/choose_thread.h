/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose_thread.h - a thread of a process that a signal disturbs least.
 *
 * The agent's handler lets its thread go on with what it waits in, but for some
 * calls with a time-out, which end early (docs/threads.md). Only looks; the
 * thread may wait in another call by the time that the signal comes.
 */
#ifndef HEAPAGENT_CHOOSE_THREAD_H
#define HEAPAGENT_CHOOSE_THREAD_H

#include <sys/types.h>

/* Its ID, of those that do not block the signal; 0 if none can be told. */
pid_t choose_thread(pid_t pid, int signal);

#endif
