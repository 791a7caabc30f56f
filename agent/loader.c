/* SPDX-License-Identifier: Apache-2.0 */
/* loader.c - asks the dynamic loader; see loader.h. */
#include "loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "compiler.h"
#include "loader_snapshot.h"
#include "symbol.h"
#include "sys.h"

#define PAGE_BYTES ((uintptr_t)4096)

_Static_assert(offsetof(struct link_map, l_addr) ==
			       offsetof(struct loader_names, bias) &&
		       offsetof(struct link_map, l_name) ==
			       offsetof(struct loader_names, name),
	       "loader_names is read from a link_map in one piece");

/* glibc's struct dl_find_object, which older headers do not have. */
struct found {
	unsigned long long flags;
	void *map_start;
	void *map_end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long reserved[7];
};
#ifdef DLFO_STRUCT_HAS_EH_DBASE
_Static_assert(sizeof(struct found) == sizeof(struct dl_find_object) &&
		       offsetof(struct found, eh_frame) ==
			       offsetof(struct dl_find_object, dlfo_eh_frame),
	       "the loader fills it in");
#endif

/* Immutable after loader_init(). */
static int (*find_object)(void *, struct found *);

int
loader_init(bool use_snapshot)
{
	void *symbol = symbol_default("_dl_find_object");

	find_object = NULL;
	if (symbol == NULL || use_snapshot)
		return loader_snapshot_init();
	/* ISO C has no cast from an object's to a function's address. */
	memcpy(&find_object, &symbol, sizeof(find_object));
	return 0;
}

bool
loader_find(uintptr_t address, struct loader_object *object)
{
	struct found found;

	if (find_object == NULL)
		return loader_snapshot_find(address, object);
	if (find_object((void *)address, &found) != 0)
		return false;
	object->map_start = (uintptr_t)found.map_start;
	object->map_end = (uintptr_t)found.map_end;
	object->eh_frame_hdr = (uintptr_t)found.eh_frame;
	object->link_map = (uintptr_t)found.link_map;
	return true;
}

void
loader_close(void)
{
	if (find_object == NULL)
		loader_snapshot_close();
}

void
loader_fork_child(void)
{
	if (find_object == NULL)
		loader_snapshot_fork_child();
}

bool
loader_names(const struct loader_object *object, struct loader_names *names)
{
	return loader_read(names, object->link_map, sizeof(*names)) ==
	       sizeof(*names);
}

/* A part within a page, which can be read as a whole or not at all. */
static bool
read_part(void *to, uintptr_t from, size_t size_bytes)
{
	/*
	 * process_vm_readv() would close the gap between question and read, in
	 * which another thread's dlclose() can fall, but sandboxes (systemd's
	 * @system-service among them) end the program for it. The gap is the
	 * one that every read of the file's own pages has: who asks is running
	 * code of it.
	 */
	if (!sys_readable(from))
		return false;
	memcpy(to, (const void *)from, size_bytes);
	return true;
}

size_t
loader_read(void *to, uintptr_t from, size_t size_bytes)
{
	size_t done = 0, part;

	for (; done < size_bytes; done += part) {
		part = MIN(size_bytes - done,
			   PAGE_BYTES - ((from + done) & (PAGE_BYTES - 1)));
		if (!read_part((char *)to + done, from + done, part))
			break;
	}
	return done;
}
