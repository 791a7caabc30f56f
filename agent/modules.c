/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.c - a grow-only table of module records and an index into it.
 *
 *	loader's answer -> hash of map_start -> recent[] -> number -> record
 *	loader's answer, name -> hash of both -> index[] -> number -> record
 *
 * The index is open-addressed with linear probing; entries are only ever
 * added, by compare-and-swap from 0, so a reader needs no lock. A record is
 * complete before its number is in the index. At twice as many slots as there
 * can be records, probes stay short and always meet an empty slot. The name is
 * in its hash, so that files that were loaded at one address in turn, under
 * thousands of names, are not in each other's way.
 *
 * That a record is still about the file that is loaded there now is cheap to
 * see as long as nothing was closed: place, link_map and the build-id in
 * memory. `recent` holds the last few records of a place, which is all that is
 * looked at then. Once per generation the name is read as well. Two threads
 * that meet a new module at the same time may both make a record; the one that
 * comes second to the index is left unused.
 */
#include "modules.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "atomics.h"
#include "compiler.h"
#include "counters.h"
#include "elf_image.h"
#include "loader.h"
#include "modules_name.h"
#include "region.h"
#include "sys.h"

#define PAGE_BYTES ((uintptr_t)4096)

#define INDEX_BITS 13
#define INDEX_SLOTS (1U << INDEX_BITS)
_Static_assert(INDEX_SLOTS >= 2 * MODULES_MAX, "load factor at most 1/2");
_Static_assert(MODULES_MAX <= UINT16_MAX + 1, "an index slot holds a number");

/* The low bits of `state` count the closes that run, the rest counts closes. */
#define STATE_RUNNING_BITS 16
#define STATE_RUNNING_MASK ((UINT64_C(1) << STATE_RUNNING_BITS) - 1)
#define STATE_GENERATION (UINT64_C(1) << STATE_RUNNING_BITS)

/* Places of `recent`, a cache line's half for all places of one hash. */
#define RECENT_BITS 8
#define RECENT_WAYS 4
/* Modules that found no room, as many as are remembered at a time. */
#define UNRECORDED_BITS 6

/* What is known of a record besides what a profile says of it. */
struct module_check {
	/* Atomic: state and link_map at the last full comparison, mixed. */
	uint64_t seen;
	/* Immutable after publish. */
	uint64_t name_hash;
	uint64_t build_id_offset; /* of that in the first page, or 0 */
};

/* Pointers are immutable after modules_init(), what they point to as said. */
static struct module *modules;
static struct module_check *checks;
static uint16_t *index_slots; /* atomic; 0 or a number, set once */
static uint32_t next_number;  /* atomic; only grows */
static uint64_t state;	      /* atomic */
/* Atomic, all of them: numbers, and tags as in `seen`. */
static uint16_t recent[RECENT_WAYS << RECENT_BITS];
static uint64_t unrecorded[1 << UNRECORDED_BITS];
/* Atomic: the generation in which `recent` lost a record of its own. */
static uint32_t pushed_out_in;
/* Of each record the generation of the last full comparison, its low half. */
static uint32_t seen_in[MODULES_MAX];

int
modules_init(void)
{
	int r = loader_init(false);

	if (r != 0)
		return r;
	modules = region_table("modules", sizeof(*modules), MODULES_MAX,
			       CACHE_LINE);
	checks = region_table("module_checks", sizeof(*checks), MODULES_MAX,
			      CACHE_LINE);
	index_slots = region_table("module_index", sizeof(*index_slots),
				   INDEX_SLOTS, CACHE_LINE);
	if (modules == NULL || checks == NULL || index_slots == NULL)
		return -ENOMEM;
	next_number = 1;
	state = STATE_GENERATION;
	r = modules_name_init();
	if (r != 0)
		return r;
	/* The executable is number 1: profiles put the main program first. */
	(void)modules_find(getauxval(AT_PHDR));
	return 0;
}

static int
meet(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		(void)modules_find(info->dlpi_addr + ph->p_vaddr);
		break;
	}
	return 0;
}

void
modules_meet_loaded(void)
{
	(void)dl_iterate_phdr(meet, NULL);
}

/*
 * The state that a look-up belongs to. Acquire pairs with modules_close_end():
 * what the loader said before a close is not taken for said after it.
 */
static uint64_t
state_now(void)
{
	return atomic_load_acquire(&state);
}

static uint32_t
half_of(uint64_t in_state)
{
	return (uint32_t)(in_state >> STATE_RUNNING_BITS);
}

/* What `seen` holds after a full comparison in that state. */
static uint64_t
seen_tag(const struct loader_object *object, uint64_t in_state)
{
	/* Odd, so that each state and link_map give another tag. */
	return in_state * UINT64_C(0x9e3779b97f4a7c15) + object->link_map;
}

/* Compares what is in memory at the record's place. */
static bool
same_image(unsigned number, const struct loader_object *object)
{
	const struct module *module = &modules[number];
	const struct module_check *check = &checks[number];

	if (module->map_start != object->map_start ||
	    module->map_end != object->map_end ||
	    module->eh_frame_hdr != object->eh_frame_hdr)
		return false;
	return check->build_id_offset == 0 ||
	       memcmp((const void *)(module->map_start +
				     check->build_id_offset),
		      module->build_id, module->build_id_bytes) == 0;
}

/* Fibonacci hashing (Knuth, TAOCP 3, 6.4) of the page number. */
static uint64_t
hash_of_place(const struct loader_object *object)
{
	return (object->map_start >> 12) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint16_t *
recent_of(const struct loader_object *object)
{
	return &recent[(hash_of_place(object) >> (64 - RECENT_BITS)) *
		       RECENT_WAYS];
}

/* True if the record was compared in full in that generation. Relaxed: then
 * rows may have been cached under it, by whoever asks or another. */
static bool
is_seen(unsigned number, uint64_t in_state)
{
	return number != 0 &&
	       atomic_load_relaxed(&seen_in[number]) == half_of(in_state);
}

/* The object was compared in full with the record. */
static void
saw(unsigned number, const struct loader_object *object, uint64_t in_state)
{
	uint16_t *ways = recent_of(object);
	unsigned way = 0, held;

	/* Over one that is of no use in this state, or else over the first. */
	while (way < RECENT_WAYS &&
	       is_seen(held = atomic_load_relaxed(&ways[way]), in_state) &&
	       held != number)
		way++;
	/* Relaxed: any thread may find the same, at any time. */
	atomic_store_relaxed(&checks[number].seen, seen_tag(object, in_state));
	atomic_store_relaxed(&seen_in[number], half_of(in_state));
	/* Release pairs with find_recent(): the record is complete. */
	held = atomic_exchange_acq_rel(&ways[way % RECENT_WAYS],
				       (uint16_t)number);
	if (unlikely(held != number && is_seen(held, in_state)))
		atomic_store_relaxed(&pushed_out_in, half_of(in_state));
}

/* The number of the record that was compared with the object, or 0. */
static unsigned
find_recent(const struct loader_object *object, uint64_t in_state)
{
	const uint16_t *ways = recent_of(object);
	uint64_t tag = seen_tag(object, in_state);

	for (unsigned way = 0; way < RECENT_WAYS; way++) {
		unsigned number = atomic_load_acquire(&ways[way]);

		if (number != 0 &&
		    atomic_load_relaxed(&checks[number].seen) == tag &&
		    same_image(number, object))
			return number;
	}
	return 0;
}

static unsigned
first_slot(const struct loader_object *object, const struct modules_name *name)
{
	return (unsigned)((hash_of_place(object) ^ name->hash) *
				  UINT64_C(0x9e3779b97f4a7c15) >>
			  (64 - INDEX_BITS));
}

static unsigned
next_slot(unsigned slot)
{
	return (slot + 1) % INDEX_SLOTS;
}

/* The number of the object's record, or 0 and the empty slot to put one. */
static unsigned
find_number(const struct loader_object *object, const struct modules_name *name,
	    unsigned *slot)
{
	for (;; *slot = next_slot(*slot)) {
		/* Acquire pairs with modules_find(): the record is complete. */
		unsigned number = atomic_load_acquire(&index_slots[*slot]);

		if (number == 0 || (checks[number].name_hash == name->hash &&
				    modules[number].bias == name->loader.bias &&
				    same_image(number, object)))
			return number;
	}
}

static unsigned
take_number(void)
{
	/* Relaxed: the number is published with its record, by publish(). */
	uint32_t number = atomic_load_relaxed(&next_number);

	do
		if (number >= MODULES_MAX)
			return 0;
	while (!atomic_cas_relaxed(&next_number, &number, number + 1));
	return number;
}

static NOINLINE void
read_image(struct module *module, struct module_check *check)
{
	/* Not on the stack, which may be tiny; once a module, it is little. */
	struct elf_image *image = region_alloc(sizeof(*image), REGION_UNIT);
	uint64_t offset;

	if (image == NULL || !sys_readable(module->map_start) ||
	    !elf_image_read(module->map_start, module->map_end, module->bias,
			    module->eh_frame_hdr, image))
		return;
	module->text_start = image->text_start;
	module->text_end = image->text_end;
	module->text_file_offset = image->text_file_offset;
	module->eh_start = image->eh_start;
	module->eh_end = image->eh_end;
	if (image->build_id == 0 || image->build_id_bytes > MODULE_BUILD_ID_MAX)
		return;
	module->build_id_bytes = image->build_id_bytes;
	memcpy(module->build_id, (const void *)image->build_id,
	       image->build_id_bytes);
	/* Only the first page is known to be there in whatever comes next. */
	offset = image->build_id - module->map_start;
	if (offset + image->build_id_bytes <= PAGE_BYTES)
		check->build_id_offset = offset;
}

/*
 * Where a new module lies over one that was there in this generation,
 * something was closed without dlclose (glibc's own iconv and NSS modules
 * are): forget the cached rows.
 */
static void
notice_overlap(const struct module *module, uint64_t in_state)
{
	/* All that was seen is in `recent`, as long as it had room. */
	bool all = atomic_load_relaxed(&pushed_out_in) == half_of(in_state);
	unsigned count = all ? modules_count() : ARRAY_SIZE(recent), number;

	for (unsigned i = 0; i < count; i++) {
		number = all ? i : atomic_load_acquire(&recent[i]);
		if (is_seen(number, in_state) &&
		    modules[number].map_start < module->map_end &&
		    module->map_start < modules[number].map_end) {
			/* As in modules_close_end(). */
			atomic_add_acq_rel(&state, STATE_GENERATION);
			return;
		}
	}
}

/* Remembered until something is closed: it will not be otherwise before. */
static uint64_t *
unrecorded_of(const struct loader_object *object)
{
	return &unrecorded[hash_of_place(object) >> (64 - UNRECORDED_BITS)];
}

static NOINLINE unsigned
make_record(const struct loader_object *object, const struct modules_name *name,
	    uint64_t in_state)
{
	region_offset path = modules_count() < MODULES_MAX
				     ? modules_name_keep(object, name)
				     : 0;
	unsigned number = path != 0 ? take_number() : 0;
	struct module *module = &modules[number];

	if (number == 0) {
		counter_add(COUNTER_modules_dropped);
		/* Relaxed: a memory of this answer, and no more. */
		atomic_store_relaxed(unrecorded_of(object),
				     seen_tag(object, in_state));
		return 0;
	}
	module->map_start = object->map_start;
	module->map_end = object->map_end;
	module->bias = name->loader.bias;
	module->eh_frame_hdr = object->eh_frame_hdr;
	module->link_map = object->link_map;
	module->path = path;
	checks[number].name_hash = name->hash;
	return number;
}

/* The object's record by its name, found or made; 0 if there is none. */
static NOINLINE unsigned
find_by_name(const struct loader_object *object, uint64_t in_state)
{
	struct modules_name name;
	unsigned number, slot, made = 0;
	uint16_t expected;

	if (!modules_name_read(object, &name))
		return 0;
	slot = first_slot(object, &name);
	for (;;) {
		number = find_number(object, &name, &slot);
		if (number != 0)
			return number;
		if (made == 0) {
			made = make_record(object, &name, in_state);
			if (made == 0)
				return 0;
			/* From here, not deeper: the stack may be tiny. */
			read_image(&modules[made], &checks[made]);
			notice_overlap(&modules[made], in_state);
		}
		/*
		 * Release pairs with find_number(): the record before its
		 * number. If another thread was first, look at its record.
		 */
		expected = 0;
		if (atomic_cas_release(&index_slots[slot], &expected,
				       (uint16_t)made))
			return made;
	}
}

unsigned
modules_find(uintptr_t address)
{
	uint64_t in_state = state_now();
	struct loader_object object;
	unsigned number;

	if (!loader_find(address, &object))
		return 0;
	number = find_recent(&object, in_state);
	if (likely(number != 0))
		return number;
	if (unlikely(atomic_load_relaxed(unrecorded_of(&object)) ==
		     seen_tag(&object, in_state)))
		return 0;
	number = find_by_name(&object, in_state);
	if (number != 0)
		saw(number, &object, in_state);
	return number;
}

const struct module *
module_at(unsigned number)
{
	return &modules[number];
}

unsigned
modules_count(void)
{
	/* Relaxed: a number that a frame names was published with it. */
	return atomic_load_relaxed(&next_number);
}

void
modules_close_begin(void)
{
	/*
	 * Acquire-release, before the loader unmaps anything: a walk that
	 * starts in whatever is loaded there afterwards sees the close.
	 */
	atomic_add_acq_rel(&state, 1);
	loader_close();
}

void
modules_close_end(void)
{
	/* Relaxed: the swap below decides. */
	uint64_t old = atomic_load_relaxed(&state), new;

	loader_close();
	/*
	 * Pairs with the acquire loads of state: who sees the new generation
	 * also sees that the loader has let go of what was closed. A fork
	 * child that forked inside a destructor finds no close to end.
	 */
	do
		new = old + STATE_GENERATION - !!(old & STATE_RUNNING_MASK);
	while (!atomic_cas_acq_rel(&state, &old, new));
}

uint64_t
modules_generation(void)
{
	/* Acquire pairs with modules_close_end(), as said there. */
	uint64_t now = atomic_load_acquire(&state);

	return now & STATE_RUNNING_MASK ? 0 : now >> STATE_RUNNING_BITS;
}

void
modules_fork_child(void)
{
	/* Relaxed: the child has one thread. */
	uint64_t now = atomic_load_relaxed(&state);

	loader_fork_child();
	atomic_store_relaxed(&state,
			     (now & ~STATE_RUNNING_MASK) + STATE_GENERATION);
}
