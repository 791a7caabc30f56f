/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_snapshot.h - the loaded ELF files as the loader lists them for
 * debuggers, for where there is no _dl_find_object() (glibc before 2.35).
 *
 * A table of our own, filled at start, and brought up to date when an address
 * is in none of its files and the loader's list has grown, or when something
 * was closed. The list is read without the loader's lock: only while it says
 * that it is consistent, each part asked for before it is read, and what was
 * read counts only if nothing was opened or closed meanwhile.
 */
#ifndef HEAPAGENT_LOADER_SNAPSHOT_H
#define HEAPAGENT_LOADER_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "loader.h"

/* Makes the table. 0 or -ENOMEM. [init] */
int loader_snapshot_init(void);

/* As loader_find(). [any] */
bool loader_snapshot_find(uintptr_t address, struct loader_object *object);

/* A file has been closed, or is about to be. [any] */
void loader_snapshot_close(void);

/* After fork: who was reading the list is not here. [any] */
void loader_snapshot_fork_child(void);

#endif
