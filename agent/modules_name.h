/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules_name.h - what the loader says of a loaded file besides its place:
 * its name, and how far it was moved. For modules.c.
 */
#ifndef HEAPAGENT_MODULES_NAME_H
#define HEAPAGENT_MODULES_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loader.h"
#include "region.h"

struct modules_name {
	struct loader_names loader;
	uint64_t hash;	     /* of the name; 0 for one that never changes */
	uint32_t size_bytes; /* with its end */
};

/* Keeps the executable's name, which the loader does not know. 0 or -ENOMEM.
 * [init] */
int modules_name_init(void);

/* False if the object is gone. [any] */
bool modules_name_read(const struct loader_object *object,
		       struct modules_name *name);

/* A copy of the name, in the region; 0 if it is gone or there is no room. [any]
 */
region_offset modules_name_keep(const struct loader_object *object,
				const struct modules_name *name);

#endif
