/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debuginfod.h - files by build-id from the servers of $DEBUGINFOD_URLS.
 *
 * libdebuginfod is loaded when files may be asked for, so that the
 * command needs neither it nor its HTTP library otherwise, and touches no
 * network unless it was told to.
 */
#ifndef HEAPAGENT_DEBUGINFOD_H
#define HEAPAGENT_DEBUGINFOD_H

#include "elf_file.h"

enum debuginfod_kind { DEBUGINFOD_PROGRAM, DEBUGINFOD_DEBUG };

/*
 * Loads the library. That it is missing, or that it knows no server, is said
 * once on standard error.
 */
void debuginfod_load(void);

/* Calls waits() when a file is waited for longer than is usual. */
void debuginfod_on_wait(void (*waits)(void *data), void *data);

/*
 * The path of the file in libdebuginfod's cache, to be freed. NULL with a
 * negative errno if no server has it or one fails; with 0 if the library was
 * not loaded. After one that did not answer at all no more is asked for.
 */
char *debuginfod_get(const struct build_id *id, enum debuginfod_kind kind,
		     int *status);

#endif
