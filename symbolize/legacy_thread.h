/* SPDX-License-Identifier: Apache-2.0 */
/*
 * legacy_thread.h - the comment that names a thread in a text profile:
 *
 *	thread TID "NAME" [STATE, MINUTES minutes]:
 */
#ifndef HEAPAGENT_LEGACY_THREAD_H
#define HEAPAGENT_LEGACY_THREAD_H

#include <stdbool.h>
#include <stdint.h>

struct legacy_thread {
	int64_t tid;
	const char *name;   /* in the text that was read */
	const char *state;  /* likewise */
	int64_t blocked_ns; /* 0: it does not say */
};

/* Reads what follows "thread ", and changes it. False: not of this form. */
bool legacy_thread_read(char *text, struct legacy_thread *thread);

#endif
