/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unseen.h - what the program allocates past our hooks, found out at start.
 *
 * A malloc that stands before ours in the search order (the program's own, a
 * library preloaded before us) is called in place of ours; an operator new of
 * the allocator's own object does not go through malloc. The profile lacks
 * their blocks, and says so in one line, which is the table "unseen" of the
 * region as well, for who reads it from outside.
 *
 * What has other names (je_malloc, a Rust program's allocator), and what is
 * loaded later, is not found.
 */
#ifndef HEAPAGENT_UNSEEN_H
#define HEAPAGENT_UNSEEN_H

#include <stdbool.h>

/* Makes the table; its text is empty. 0 or -ENOMEM. [init] */
int unseen_init(void);

/* Looks who serves the program, once its libraries are there. [init] */
void unseen_look(void);

/* True if the allocator behind our hooks is not libc's. [init] */
bool unseen_foreign(void);

/* The line, "" if there is nothing to say. After unseen_init(). [any] */
const char *unseen_text(void);

#endif
