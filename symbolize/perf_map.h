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

struct perf_map;

/*
 * Reads the map. NULL if there is none, if it belongs to somebody else than
 * root or this user (anybody may create files in /tmp), or if it is larger
 * than 256 MiB.
 */
struct perf_map *perf_map_open(const char *path);
void perf_map_close(struct perf_map *map);

/* The name at an address of the process, or NULL. */
const char *perf_map_find(const struct perf_map *map, uint64_t address);

#endif
