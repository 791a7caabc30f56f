/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_snapshot.c - reads the loader's list of files; loader_snapshot.h.
 *
 *	entries[0 .. count)	a file each, in the order in which they came
 *
 * Entries are only ever added, and published by count; of one whose file was
 * closed map_end becomes 0. So a reader needs no lock. Who reads the list has
 * `reading`, which nobody waits for: who does not get it takes the table as
 * it is, and so does everybody in a process in which the holder was killed.
 * The table is full after ENTRIES_MAX files: later ones are not found.
 */
#include "loader_snapshot.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "atomics.h"
#include "compiler.h"
#include "region.h"

#define PAGE_BYTES ((uintptr_t)4096)
#define ENTRIES_MAX 4096
#define HEADERS_MAX 64

/* The loader's, for debuggers; weak, see agent.c on __libc_stack_end. */
extern struct r_debug _r_debug __attribute__((weak));

struct entry {
	/* Immutable after publish, but for map_end: atomic, 0 once closed. */
	uintptr_t link_map;
	uintptr_t bias;
	uintptr_t map_start;
	uintptr_t map_end;
	uintptr_t eh_frame_hdr;
	/*
	 * The largest gap between segments, or nothing. What the kernel has
	 * loaded (the program, the loader) does not keep it from others.
	 */
	uintptr_t gap_start;
	uintptr_t gap_end;
	uint64_t walk; /* the last that met it; the reader of the list's */
};
_Static_assert(sizeof(struct entry) == CACHE_LINE, "one line an entry");

/* Immutable after loader_snapshot_init(). */
static struct entry *entries;

static uint32_t count;	 /* atomic; only grows */
static uint32_t closes;	 /* atomic; only grows */
static uint32_t reading; /* atomic; 1 while somebody reads the list */
/* The reader of the list's, atomic since others look whether to become it. */
static uint32_t closes_seen; /* `closes` at the last whole reading */
static uintptr_t last;	     /* the list's last file then, or 0 */
static uint64_t walks;
/* What it has read: not on a stack, which may be tiny. */
static struct {
	struct link_map map;
	ElfW(Ehdr) eh;
	ElfW(Phdr) ph;
} part;

static void
take_in_header(struct entry *entry, const ElfW(Phdr) * ph)
{
	uintptr_t at = entry->bias + ph->p_vaddr;
	uintptr_t start = at & ~(PAGE_BYTES - 1);
	uintptr_t before = ALIGN_UP(entry->map_end, PAGE_BYTES);

	if (ph->p_type == PT_GNU_EH_FRAME)
		entry->eh_frame_hdr = at;
	if (ph->p_type != PT_LOAD)
		return;
	/* They are in order of address. */
	if (before != 0 && start > before &&
	    start - before > entry->gap_end - entry->gap_start) {
		entry->gap_start = before;
		entry->gap_end = start;
	}
	entry->map_start = MIN(entry->map_start, start);
	entry->map_end = MAX(entry->map_end, at + ph->p_memsz);
}

/* From the first page of the file, which starts at its bias. */
static bool
read_headers(struct entry *entry)
{
	const ElfW(Ehdr) *eh = &part.eh;

	if (loader_read(&part.eh, entry->bias, sizeof(*eh)) != sizeof(*eh) ||
	    memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh->e_phentsize != sizeof(part.ph) || eh->e_phnum > HEADERS_MAX)
		return false;
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		uintptr_t at = entry->bias + eh->e_phoff + i * sizeof(part.ph);

		if (loader_read(&part.ph, at, sizeof(part.ph)) !=
		    sizeof(part.ph))
			return false;
		take_in_header(entry, &part.ph);
	}
	return entry->map_start < entry->map_end;
}

/* Adds the file, not yet published. What cannot be read is left out. */
static void
add(uint32_t *used, uintptr_t node, uintptr_t bias, uint64_t walk)
{
	struct entry *entry = &entries[*used];

	if (*used == ENTRIES_MAX)
		return;
	*entry = (struct entry){
		.link_map = node,
		.bias = bias,
		.map_start = UINTPTR_MAX,
		.walk = walk,
	};
	/* A program that is not relocatable was taken in at start. */
	if (bias != 0 && read_headers(entry))
		++*used;
}

/* Marks the file's entry; false if it has none. */
static bool
mark(uint32_t used, uintptr_t node, uintptr_t bias, uint64_t walk)
{
	for (uint32_t i = used; i-- > 0;) {
		struct entry *entry = &entries[i];

		if (entry->link_map == node && entry->bias == bias &&
		    atomic_load_relaxed(&entry->map_end) != 0) {
			entry->walk = walk;
			return true;
		}
	}
	return false;
}

static bool
is_consistent(void)
{
	return &_r_debug != NULL &&
	       *(volatile int *)&_r_debug.r_state == RT_CONSISTENT;
}

/*
 * Follows the list from a file on; the new ones are behind the table's end,
 * at *used. The last file of it, or 0 if it cannot be followed to its end.
 */
static uintptr_t
follow(uintptr_t node, uint32_t *used, uint64_t walk)
{
	const struct link_map *map = &part.map;

	for (uint32_t i = 0; i < 2 * ENTRIES_MAX; i++) {
		if (loader_read(&part.map, node, sizeof(*map)) != sizeof(*map))
			return 0;
		if (!mark(*used, node, map->l_addr, walk))
			add(used, node, map->l_addr, walk);
		if (map->l_next == NULL)
			return node;
		node = (uintptr_t)map->l_next;
	}
	return 0;
}

static void
forget_unmarked(uint32_t used, uint64_t walk)
{
	/* Relaxed: whoever still finds it has looked before the close. */
	for (uint32_t i = 0; i < used; i++)
		if (entries[i].walk != walk)
			atomic_store_relaxed(&entries[i].map_end, 0);
}

/* Reads the whole list, or what came to its end. */
static void
read_list(bool whole)
{
	/* Acquire pairs with loader_snapshot_close(): the list after it. */
	uint32_t seen = atomic_load_acquire(&closes);
	uint32_t used = atomic_load_relaxed(&count);
	uintptr_t end;

	if (!is_consistent())
		return;
	end = follow(whole ? (uintptr_t)_r_debug.r_map : last, &used, ++walks);
	/* Reads of the list before those that say whether it was changed. */
	atomic_fence_acquire();
	if (end == 0 || !is_consistent() ||
	    atomic_load_relaxed(&closes) != seen)
		return;
	if (whole)
		forget_unmarked(used, walks);
	/* Release pairs with look_up(): the entries before their number. */
	atomic_store_release(&count, used);
	atomic_store_relaxed(&last, end);
	atomic_store_relaxed(&closes_seen, seen);
}

/* True if the table may have changed. */
static NOINLINE bool
bring_up_to_date(bool whole)
{
	uint32_t expected = 0;

	/* Acquire-release: what the reader of the list before has written. */
	if (!atomic_cas_acq_rel(&reading, &expected, 1))
		return false;
	read_list(whole);
	atomic_store_release(&reading, 0);
	return true;
}

static bool
look_up(uintptr_t address, struct loader_object *object)
{
	/* Acquire pairs with read_list(). */
	uint32_t used = atomic_load_acquire(&count);

	for (uint32_t i = 0; i < used; i++) {
		const struct entry *entry = &entries[i];
		uintptr_t end = atomic_load_relaxed(&entry->map_end);

		if (address < entry->map_start || address >= end ||
		    address - entry->gap_start <
			    entry->gap_end - entry->gap_start)
			continue;
		object->map_start = entry->map_start;
		object->map_end = end;
		object->eh_frame_hdr = entry->eh_frame_hdr;
		object->link_map = entry->link_map;
		return true;
	}
	return false;
}

/* True if a file has been opened since the list was read. */
static NOINLINE bool
has_grown(void)
{
	uintptr_t node = atomic_load_relaxed(&last);
	struct link_map *next;
	size_t offset = offsetof(struct link_map, l_next);

	return node != 0 &&
	       loader_read(&next, node + offset, sizeof(next)) ==
		       sizeof(next) &&
	       next != NULL;
}

bool
loader_snapshot_find(uintptr_t address, struct loader_object *object)
{
	/* Relaxed: who closed something itself sees its own addition. */
	if (atomic_load_relaxed(&closes) != atomic_load_relaxed(&closes_seen))
		(void)bring_up_to_date(true);
	return look_up(address, object) ||
	       (has_grown() && bring_up_to_date(false) &&
		look_up(address, object));
}

void
loader_snapshot_close(void)
{
	/* Release pairs with read_list(): the closing before its number. */
	__atomic_fetch_add(&closes, 1, __ATOMIC_RELEASE);
}

void
loader_snapshot_fork_child(void)
{
	/* Relaxed: the child has one thread. */
	atomic_store_relaxed(&reading, 0);
}

/* At start the loader itself says where the program's headers are. */
static int
take_at_start(struct dl_phdr_info *info, size_t size, void *data)
{
	uint32_t *used = data;
	struct entry *entry = &entries[*used];

	(void)size;
	*entry = (struct entry){
		.bias = info->dlpi_addr,
		.map_start = UINTPTR_MAX,
	};
	for (size_t i = 0; i < info->dlpi_phnum; i++)
		take_in_header(entry, &info->dlpi_phdr[i]);
	++*used;
	return *used == ENTRIES_MAX;
}

/* Gives the entries that were taken at start their files in the list. */
static void
name_at_start(uint32_t used)
{
	const struct link_map *map = &_r_debug != NULL ? _r_debug.r_map : NULL;

	for (; map != NULL; map = map->l_next) {
		for (uint32_t i = 0; i < used; i++)
			if (entries[i].bias == map->l_addr &&
			    entries[i].link_map == 0) {
				entries[i].link_map = (uintptr_t)map;
				break;
			}
		last = (uintptr_t)map;
	}
}

int
loader_snapshot_init(void)
{
	uint32_t used = 0;

	entries = region_table("loaded", sizeof(*entries), ENTRIES_MAX,
			       CACHE_LINE);
	if (entries == NULL)
		return -ENOMEM;
	last = 0;
	(void)dl_iterate_phdr(take_at_start, &used);
	name_at_start(used);
	/* Release pairs with look_up(). */
	atomic_store_release(&count, used);
	return 0;
}
