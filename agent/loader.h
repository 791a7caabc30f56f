/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader.h - which loaded ELF file holds an address, asked without a lock.
 *
 * glibc 2.35 and newer answer through _dl_find_object(), which takes no lock
 * and may be called in a signal handler. Elsewhere the answer comes from a
 * table of our own (loader_snapshot.h). Memory of the loader that may have been
 * given back is asked for before it is read, so that a hole is an error and not
 * a fault.
 */
#ifndef HEAPAGENT_LOADER_H
#define HEAPAGENT_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loader_object {
	uintptr_t map_start; /* [map_start, map_end): the whole load */
	uintptr_t map_end;
	uintptr_t eh_frame_hdr; /* PT_GNU_EH_FRAME; 0: none */
	/* Starts with the fields of struct link_map that <link.h> shows. */
	uintptr_t link_map;
};

/* What the loader says of an object, as far as it could be read. */
struct loader_names {
	uintptr_t bias; /* address minus ELF virtual address */
	uintptr_t name; /* address of a string; not to be dereferenced */
};

/*
 * Looks for _dl_find_object(), or takes the snapshot if there is none or if
 * snapshot is true. 0 or -ENOMEM. Calls the loader. [init]
 */
int loader_init(bool snapshot);

/* True if a loaded file holds the address. [any] */
bool loader_find(uintptr_t address, struct loader_object *object);

/* Before and after the loader closes a file. [any] */
void loader_close(void);

/* After fork. [any] */
void loader_fork_child(void);

/* False if the object is gone. [any] */
bool loader_names(const struct loader_object *object,
		  struct loader_names *names);

/*
 * Copies memory that may not be there: the number of bytes copied, which is
 * size_bytes or ends at a page that cannot be read. [any]
 */
size_t loader_read(void *to, uintptr_t from, size_t size_bytes);

#endif
