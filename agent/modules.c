/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.c - a grow-only table of module records and an index into it.
 *
 *	loader's answer -> hash of map_start -> index[] -> number -> record
 *
 * The index is open-addressed with linear probing; entries are only ever
 * added, by compare-and-swap from 0, so a reader needs no lock. A record is
 * complete before its number is in the index. At twice as many slots as there
 * can be records, probes stay short and always meet an empty slot.
 *
 * That a record is still about the file that is loaded there now is cheap to
 * see as long as nothing was closed: place, link_map and the build-id in
 * memory. Once per generation the name is compared as well. Two threads that
 * meet a new module at the same time may both make a record; the one that
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
#include "executable.h"
#include "loader.h"
#include "region.h"
#include "sys.h"

#define PAGE_BYTES ((uintptr_t)4096)
#define PATH_BYTES_MAX 4096
/* Small: the stack this runs on may be tiny. */
#define NAME_PART_BYTES 16

#define INDEX_BITS 13
#define INDEX_SLOTS (1U << INDEX_BITS)
_Static_assert(INDEX_SLOTS >= 2 * MODULES_MAX, "load factor at most 1/2");
_Static_assert(MODULES_MAX <= UINT16_MAX + 1, "an index slot holds a number");

/* The low bits of `state` count the closes that run, the rest counts closes. */
#define STATE_RUNNING_BITS 16
#define STATE_RUNNING_MASK ((UINT64_C(1) << STATE_RUNNING_BITS) - 1)
#define STATE_GENERATION (UINT64_C(1) << STATE_RUNNING_BITS)

/* What is known of a record besides what a profile says of it. */
struct module_check {
	/* Atomic: state and link_map at the last full comparison, mixed. */
	uint64_t seen;
	/* Immutable after publish: of the build-id in the first page, or 0. */
	uint64_t build_id_offset;
};

/* Pointers are immutable after modules_init(), what they point to as said. */
static struct module *modules;
static struct module_check *checks;
static uint16_t *index_slots; /* atomic; 0 or a number, set once */
static uint32_t next_number;  /* atomic; only grows */
static uint64_t state;	      /* atomic */

/* Immutable after modules_init(). */
static uintptr_t vdso_start;
static uintptr_t main_link_map;
static region_offset main_path;
static region_offset vdso_path;

static region_offset
keep_string(const char *string)
{
	size_t size_bytes = strlen(string) + 1;
	char *copy = region_alloc(size_bytes, REGION_UNIT);

	if (copy == NULL)
		return 0;
	memcpy(copy, string, size_bytes);
	return region_offset_of(copy);
}

static int
init_names(void)
{
	struct loader_object object;
	char path[PATH_BYTES_MAX];

	executable_path(path, sizeof(path));
	main_path = keep_string(path);
	vdso_path = keep_string("[vdso]");
	vdso_start = getauxval(AT_SYSINFO_EHDR);
	if (loader_find(getauxval(AT_PHDR), &object))
		main_link_map = object.link_map;
	return main_path && vdso_path ? 0 : -ENOMEM;
}

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
	r = init_names();
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

static bool
name_is_fixed(const struct loader_object *object)
{
	return object->link_map == main_link_map ||
	       object->map_start == vdso_start;
}

/* How many bytes the name has, its end included; 0 if it cannot be read. */
static size_t
name_bytes(uintptr_t name)
{
	char part[NAME_PART_BYTES];

	for (size_t done = 0; done < PATH_BYTES_MAX; done += sizeof(part)) {
		size_t got = loader_read(part, name + done, sizeof(part));
		size_t length = strnlen(part, got);

		if (length < got)
			return done + length + 1;
		if (got < sizeof(part))
			return 0;
	}
	return 0;
}

static region_offset
copy_name(uintptr_t name)
{
	size_t size_bytes = name_bytes(name);
	char *copy = size_bytes ? region_alloc(size_bytes, REGION_UNIT) : NULL;

	if (copy == NULL || loader_read(copy, name, size_bytes) != size_bytes)
		return 0;
	copy[size_bytes - 1] = '\0';
	return region_offset_of(copy);
}

static NOINLINE bool
same_name(uintptr_t name, const char *path)
{
	size_t size_bytes = strlen(path) + 1;
	char part[NAME_PART_BYTES];

	for (size_t done = 0; done < size_bytes; done += sizeof(part)) {
		size_t size = MIN(size_bytes - done, sizeof(part));

		if (loader_read(part, name + done, size) != size ||
		    memcmp(part, path + done, size) != 0)
			return false;
	}
	return true;
}

/* What `seen` holds after a full comparison in this state. */
static uint64_t
seen_tag(const struct loader_object *object)
{
	/* Odd, so that each state and link_map give another tag. */
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);

	/*
	 * Acquire pairs with modules_close_end(): a tag of the new generation
	 * is not computed from what the loader said before the close.
	 */
	return atomic_load_acquire(&state) * odd + object->link_map;
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

/* The address of the object's name, and its bias; 0 if it is gone. */
static NOINLINE uintptr_t
name_of(const struct loader_object *object, uint64_t *bias)
{
	struct loader_names names;

	if (!loader_names(object, &names))
		return 0;
	*bias = names.bias;
	return names.name;
}

/* The same, but 0 if the object lies elsewhere than the module did. */
static NOINLINE uintptr_t
name_if_there(const struct module *module, const struct loader_object *object)
{
	uint64_t bias = 0;
	uintptr_t name = name_of(object, &bias);

	return bias == module->bias ? name : 0;
}

/* Compares what the loader says of them. The last call leaves its frame. */
static NOINLINE bool
same_names(const struct module *module, const struct loader_object *object)
{
	uintptr_t name;

	if (name_is_fixed(object))
		return true;
	name = name_if_there(module, object);
	return name != 0 && same_name(name, region_at(module->path));
}

static bool
same_module(unsigned number, const struct loader_object *object)
{
	uint64_t tag = seen_tag(object);

	if (!same_image(number, object))
		return false;
	/* Relaxed: the record itself came with the number (find_number). */
	if (atomic_load_relaxed(&checks[number].seen) == tag)
		return true;
	if (!same_names(&modules[number], object))
		return false;
	/* Relaxed: any thread may find the same, at any time. */
	atomic_store_relaxed(&checks[number].seen, tag);
	return true;
}

static unsigned
first_slot(const struct loader_object *object)
{
	/* Fibonacci hashing of the page number (Knuth, TAOCP 3, 6.4). */
	return (unsigned)((object->map_start >> 12) *
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
find_number(const struct loader_object *object, unsigned *slot)
{
	unsigned number;

	for (;; *slot = next_slot(*slot)) {
		/* Acquire pairs with publish(): the record is complete. */
		number = atomic_load_acquire(&index_slots[*slot]);
		if (number == 0 || same_module(number, object))
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
 * Where a new module lies over an old one, something was closed without
 * dlclose (glibc's own iconv and NSS modules are): forget the cached rows.
 */
static void
notice_overlap(const struct module *module, unsigned number)
{
	for (unsigned i = 1; i < number; i++) {
		if (modules[i].map_start < module->map_end &&
		    module->map_start < modules[i].map_end) {
			/* As in modules_close_end(). */
			atomic_add_acq_rel(&state, STATE_GENERATION);
			return;
		}
	}
}

/* Where the object's name is kept; 0 if it is gone or there is no room. */
static NOINLINE region_offset
keep_name(const struct loader_object *object, uint64_t *bias)
{
	uintptr_t name = name_of(object, bias);

	if (name == 0)
		return 0;
	if (object->link_map == main_link_map)
		return main_path;
	if (object->map_start == vdso_start)
		return vdso_path;
	return copy_name(name);
}

static NOINLINE unsigned
make_record(const struct loader_object *object, region_offset path,
	    uint64_t bias)
{
	unsigned number = path != 0 ? take_number() : 0;
	struct module *module = &modules[number];

	if (number == 0) {
		counter_add(COUNTER_modules_dropped);
		return 0;
	}
	module->map_start = object->map_start;
	module->map_end = object->map_end;
	module->bias = bias;
	module->eh_frame_hdr = object->eh_frame_hdr;
	module->link_map = object->link_map;
	module->path = path;
	checks[number].seen = seen_tag(object);
	return number;
}

unsigned
modules_find(uintptr_t address)
{
	struct loader_object object;
	unsigned number, slot, made = 0;
	region_offset path;
	uint64_t bias = 0;
	uint16_t expected;

	if (!loader_find(address, &object))
		return 0;
	slot = first_slot(&object);
	for (;;) {
		number = find_number(&object, &slot);
		if (likely(number != 0))
			return number;
		if (made == 0) {
			path = modules_count() < MODULES_MAX
				       ? keep_name(&object, &bias)
				       : 0;
			made = make_record(&object, path, bias);
			if (made == 0)
				return 0;
			/* From here, not deeper: the stack may be tiny. */
			read_image(&modules[made], &checks[made]);
			notice_overlap(&modules[made], made);
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
