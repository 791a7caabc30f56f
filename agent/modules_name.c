/* SPDX-License-Identifier: Apache-2.0 */
/* modules_name.c - reads names out of the loader; see modules_name.h. */
#include "modules_name.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "compiler.h"
#include "executable.h"

#define PATH_BYTES_MAX 4096
/* Small: the stack this runs on may be tiny. */
#define NAME_PART_BYTES 16

/* Immutable after modules_name_init(). */
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

int
modules_name_init(void)
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

static bool
name_is_fixed(const struct loader_object *object)
{
	return object->link_map == main_link_map ||
	       object->map_start == vdso_start;
}

/*
 * Reads the name, byte for byte, for its hash (FNV-1a, which is enough for two
 * names to differ in 64 bits) and its length. False if it cannot be read.
 */
static NOINLINE bool
hash_name(struct modules_name *name)
{
	char part[NAME_PART_BYTES];

	name->hash = UINT64_C(0xcbf29ce484222325);
	for (size_t done = 0; done < PATH_BYTES_MAX; done += sizeof(part)) {
		size_t got = loader_read(part, name->loader.name + done,
					 sizeof(part));
		size_t length = strnlen(part, got);

		for (size_t i = 0; i < length; i++)
			name->hash = (name->hash ^ (unsigned char)part[i]) *
				     UINT64_C(0x100000001b3);
		name->size_bytes = (uint32_t)(done + length + 1);
		if (length < got)
			return true;
		if (got < sizeof(part))
			return false;
	}
	return false;
}

static region_offset
copy_name(uintptr_t name, size_t size_bytes)
{
	char *copy = region_alloc(size_bytes, REGION_UNIT);

	if (copy == NULL || loader_read(copy, name, size_bytes) != size_bytes)
		return 0;
	copy[size_bytes - 1] = '\0';
	return region_offset_of(copy);
}

NOINLINE bool
modules_name_read(const struct loader_object *object, struct modules_name *name)
{
	if (!loader_names(object, &name->loader))
		return false;
	name->hash = 0;
	return name_is_fixed(object) || hash_name(name);
}

NOINLINE region_offset
modules_name_keep(const struct loader_object *object,
		  const struct modules_name *name)
{
	if (object->link_map == main_link_map)
		return main_path;
	if (object->map_start == vdso_start)
		return vdso_path;
	return copy_name(name->loader.name, name->size_bytes);
}
