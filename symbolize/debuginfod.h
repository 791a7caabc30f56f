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

/*
 * The path of the file in libdebuginfod's cache, to be freed; NULL if no
 * server has it, or if the library was not loaded.
 */
char *debuginfod_get(const struct build_id *id, enum debuginfod_kind kind);

#endif
