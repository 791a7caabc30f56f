/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_map_fuzz.c - any bytes as a map of JIT code: addresses have names or
 * none.
 */
/* SYMBOLIZE: perf_map memory utf8 profile_file target reason */
#include "perf_map.h"

#include <string.h>

#include "input.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct reason reason;
	struct perf_map *map =
		perf_map_open_usual(input_write("map", data, bytes), 0,
				    &reason);
	if (!map)
		return 0;
	/* Small addresses, and those that the map itself may have. */
	for (uint64_t address = 0; address < 64; address++) {
		const char *name = perf_map_find(map, address);
		if (name && strlen(name) > bytes)
			abort();
	}
	for (int shift = 0; shift < 64; shift++)
		perf_map_find(map, UINT64_MAX >> shift);
	perf_map_close(map);
	return 0;
}
