/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_fuzz.c - any bytes as a program with debug information: its addresses
 * have names or none.
 *
 * The same bytes are the program, its .dwp, and whatever .gnu_debuglink,
 * .gnu_debugaltlink or a skeleton unit looks for under the name "input".
 */
/* SYMBOLIZE: debuginfod demangle die dwarf_file elf_file inlines locate */
/* SYMBOLIZE: memory object package ranges reason source_path symbols table */
/* SYMBOLIZE: utf8 */
#include "demangle.h"
#include "input.h"
#include "object.h"

static void
look_up(struct object *object)
{
	static struct inline_frame frames[INLINES_MAX];
	uint64_t into;
	for (uint64_t offset = 0; offset < 0x3000; offset += 13) {
		size_t count = object_find(object, offset, 0, false, frames);
		for (size_t i = 0; i < count; i++)
			if (frames[i].name)
				free(demangle(frames[i].name));
		object_function_offset(object, offset, 0, &into);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const struct locate_options options;
	input_write("program.dwp", data, bytes);
	input_write("input", data, bytes);
	struct object *object =
		object_open(&options, input_write("program", data, bytes), "");
	look_up(object);
	object_close(object);
	return 0;
}
