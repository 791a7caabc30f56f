/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader.c - asks the dynamic loader; see loader.h.
 *
 * The snapshot is a table in the region, immutable after loader_init(). Its
 * entries start like struct link_map, so that one reader serves both.
 */
#include "loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "compiler.h"
#include "region.h"
#include "symbol.h"
#include "sys.h"

#define PAGE_BYTES ((uintptr_t)4096)

_Static_assert(offsetof(struct link_map, l_addr) ==
			       offsetof(struct loader_names, bias) &&
		       offsetof(struct link_map, l_name) ==
			       offsetof(struct loader_names, name),
	       "loader_names is read from a link_map in one piece");

struct snapshot_entry {
	struct loader_names names; /* first: found through link_map */
	uintptr_t map_start;
	uintptr_t map_end;
	uintptr_t eh_frame_hdr;
};

struct snapshot {
	struct snapshot_entry *entries;
	size_t count;
	size_t capacity;
};

/* All immutable after loader_init(). */
static int (*find_object)(void *, struct dl_find_object *);
static struct snapshot snapshot;

static int
snapshot_add(struct dl_phdr_info *info, size_t size, void *data)
{
	struct snapshot *to = data;
	struct snapshot_entry *entry;

	(void)size;
	if (to->entries == NULL) {
		to->capacity++;
		return 0;
	}
	if (to->count == to->capacity)
		return 1;
	entry = &to->entries[to->count++];
	entry->names.bias = info->dlpi_addr;
	entry->names.name = (uintptr_t)info->dlpi_name;
	entry->map_start = UINTPTR_MAX;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_GNU_EH_FRAME)
			entry->eh_frame_hdr = at;
		if (ph->p_type != PT_LOAD)
			continue;
		entry->map_start =
			MIN(entry->map_start, at & ~(PAGE_BYTES - 1));
		entry->map_end = MAX(entry->map_end, at + ph->p_memsz);
	}
	return 0;
}

static int
snapshot_take(void)
{
	(void)dl_iterate_phdr(snapshot_add, &snapshot);
	snapshot.entries = region_table("loaded", sizeof(*snapshot.entries),
					snapshot.capacity, REGION_UNIT);
	if (snapshot.entries == NULL)
		return -ENOMEM;
	(void)dl_iterate_phdr(snapshot_add, &snapshot);
	return 0;
}

int
loader_init(bool use_snapshot)
{
	void *symbol = symbol_default("_dl_find_object");

	find_object = NULL;
	memset(&snapshot, 0, sizeof(snapshot));
	if (symbol == NULL || use_snapshot)
		return snapshot_take();
	/* ISO C has no cast from an object's to a function's address. */
	memcpy(&find_object, &symbol, sizeof(find_object));
	return 0;
}

static bool
snapshot_find(uintptr_t address, struct loader_object *object)
{
	for (size_t i = 0; i < snapshot.count; i++) {
		const struct snapshot_entry *entry = &snapshot.entries[i];

		if (address < entry->map_start || address >= entry->map_end)
			continue;
		object->map_start = entry->map_start;
		object->map_end = entry->map_end;
		object->eh_frame_hdr = entry->eh_frame_hdr;
		object->link_map = (uintptr_t)entry;
		return true;
	}
	return false;
}

bool
loader_find(uintptr_t address, struct loader_object *object)
{
	struct dl_find_object found;

	if (find_object == NULL)
		return snapshot_find(address, object);
	if (find_object((void *)address, &found) != 0)
		return false;
	object->map_start = (uintptr_t)found.dlfo_map_start;
	object->map_end = (uintptr_t)found.dlfo_map_end;
	object->eh_frame_hdr = (uintptr_t)found.dlfo_eh_frame;
	object->link_map = (uintptr_t)found.dlfo_link_map;
	return true;
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
