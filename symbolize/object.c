/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object.c - one mapped file, with everything known about its addresses.
 */
#include "object.h"

#include <stdlib.h>

#include "memory.h"
#include "symbols.h"

struct object {
	struct located located;
	struct inlines *inlines; /* of located.debug; NULL: no DWARF */
	struct symbols *symbols; /* in the program's addresses */
	uint64_t debug_bias;	 /* debug file's address minus the program's */
};

/*
 * What a debug file was made for has the program's addresses, unless prelink
 * moved the program afterwards.
 */
static uint64_t
bias_of(struct elf_file *file, struct elf_file *program)
{
	uint64_t its, programs;
	if (!file || !program || file == program ||
	    !elf_file_base(file, &its) || !elf_file_base(program, &programs))
		return 0;
	return its - programs;
}

struct object *
object_open(const struct locate_options *options, const char *name,
	    const char *build_id)
{
	struct object *object = memory_get(sizeof(*object));
	struct located *located = &object->located;
	locate(options, name, build_id, located);
	object->symbols = symbols_new();
	object->debug_bias = bias_of(located->debug, located->program);
	if (located->program)
		symbols_add(object->symbols, located->program, 0);
	if (located->mini)
		symbols_add(object->symbols, located->mini,
			    -bias_of(located->mini, located->program));
	if (located->debug && located->debug != located->program)
		symbols_add(object->symbols, located->debug,
			    -object->debug_bias);
	if (located->debug)
		object->inlines = inlines_open(located->debug, options);
	return object;
}

void
object_close(struct object *object)
{
	if (!object)
		return;
	inlines_close(object->inlines);
	symbols_free(object->symbols);
	located_close(&object->located);
	free(object);
}

const char *
object_refused(const struct object *object, const char **damage)
{
	*damage = object->located.damage;
	return object->located.refused;
}

int
object_not_found(const struct object *object)
{
	return object->located.not_found;
}

const char *
object_damaged(const struct object *object)
{
	struct elf_file *debug = object->located.debug;
	bool damaged = object->inlines ? inlines_damaged(object->inlines)
				       : debug && elf_file_has_dwarf(debug);
	return damaged ? debug->path : NULL;
}

bool
object_found(const struct object *object)
{
	return object->located.program || object->located.debug;
}

bool
object_has_lines(const struct object *object)
{
	return object->inlines;
}

static uint64_t
file_bytes(struct elf_file *file)
{
	size_t bytes = 0;
	return file && elf_rawfile(file->elf, &bytes) ? bytes : 0;
}

uint64_t
object_bytes(const struct object *object)
{
	const struct located *located = &object->located;
	uint64_t bytes = file_bytes(located->program);
	if (located->debug != located->program)
		bytes += file_bytes(located->debug);
	return bytes + file_bytes(located->mini);
}

/* The address in the program, as its file or the debug file lays it out. */
static bool
address_of(struct object *object, uint64_t file_offset, uint64_t mapping_offset,
	   uint64_t *address)
{
	struct elf_file *program = object->located.program;
	struct elf_file *debug = object->located.debug;
	if (program)
		return elf_file_address(program, file_offset, address);
	/* A file of debug information alone has the segments' addresses, but
	 * its offsets are its own: the mapping is the code's, then. */
	if (!debug || !elf_file_text(debug, address))
		return false;
	*address += file_offset - mapping_offset;
	return true;
}

size_t
object_order(struct object *object, uint64_t file_offset,
	     uint64_t mapping_offset)
{
	uint64_t address;
	if (!object->inlines ||
	    !address_of(object, file_offset, mapping_offset, &address))
		return 0;
	return inlines_unit(object->inlines, address + object->debug_bias);
}

static bool
is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

size_t
object_find(struct object *object, uint64_t file_offset,
	    uint64_t mapping_offset, bool only_outermost,
	    struct inline_frame frames[INLINES_MAX])
{
	uint64_t address;
	size_t count = 0;
	if (!address_of(object, file_offset, mapping_offset, &address))
		return 0;
	if (object->inlines)
		count = inlines_find(object->inlines,
				     address + object->debug_bias,
				     only_outermost, frames);
	/* A lambda or a local class has no linkage name in its DWARF. */
	bool named = count && frames[count - 1].name;
	if (named && is_mangled(frames[count - 1].name))
		return count;
	const char *name = symbols_find(object->symbols, address);
	if (!name || (named && !is_mangled(name)))
		return count;
	if (!count)
		frames[count++] = (struct inline_frame){ .file = NULL };
	frames[count - 1].name = name;
	return count;
}

bool
object_function_offset(struct object *object, uint64_t file_offset,
		       uint64_t mapping_offset, uint64_t *offset)
{
	uint64_t address, start;
	if (!address_of(object, file_offset, mapping_offset, &address) ||
	    !symbols_start(object->symbols, address, &start))
		return false;
	*offset = address - start;
	return true;
}
