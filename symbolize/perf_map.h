/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_map.h - names of just-in-time compiled code: /tmp/perf-PID.map.
 *
 * The convention of Linux's perf: one line for each piece of code, "START
 * SIZE name", numbers in hexadecimal; a later line replaces an earlier one.
 */
#ifndef HEAPAGENT_PERF_MAP_H
#define HEAPAGENT_PERF_MAP_H

#include <stdint.h>
#include <sys/types.h>

#include "reason.h"

struct perf_map;

/*
 * Reads a map that was asked for, whosesoever it is, compressed or not, from a
 * file or a pipe. NULL with the reason if it is none, or has more than 256 MiB.
 */
struct perf_map *perf_map_open(const char *path, struct reason *reason);

/*
 * The same of the usual name in /tmp, where anybody may create files: only one
 * that belongs to root, this user or the owner given. NULL without a reason if
 * there is none.
 */
struct perf_map *perf_map_open_usual(const char *path, uid_t owner,
				     struct reason *reason);
void perf_map_close(struct perf_map *map);

/* The name at an address of the process, or NULL. */
const char *perf_map_find(const struct perf_map *map, uint64_t address);

#endif
