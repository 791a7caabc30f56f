/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_fuzz.c - any bytes as a program with debug information: its addresses
 * have names or none.
 */
/* SYMBOLIZE: elf_file locate debuginfod inlines ranges package */
/* SYMBOLIZE: symbols demangle memory utf8 reason */
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "inlines.h"
#include "memory.h"
#include "symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void
look_up(struct elf_file *file, struct symbols *symbols, struct inlines *inlines)
{
	static struct inline_frame frames[INLINES_MAX];
	uint64_t address;
	for (uint64_t offset = 0; offset < 0x3000; offset += 13) {
		if (!elf_file_address(file, offset, &address))
			continue;
		symbols_find(symbols, address);
		size_t count =
			inlines ? inlines_find(inlines, address, false, frames)
				: 0;
		for (size_t i = 0; i < count; i++)
			if (frames[i].name)
				free(demangle(frames[i].name));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const struct locate_options options;
	struct elf_file *file;
	struct reason reason;
	const char *link;
	uint32_t crc;
	void *copy = memory_get(bytes);
	memcpy(copy, data, bytes);
	if (elf_file_open_memory("fuzz", copy, bytes, &file, &reason))
		return 0;
	struct symbols *symbols = symbols_new();
	symbols_add(symbols, file, 0);
	struct inlines *inlines = inlines_open(file, &options);
	elf_file_debuglink(file, &link, &crc);
	elf_file_close(elf_file_mini(file));
	look_up(file, symbols, inlines);
	inlines_close(inlines);
	symbols_free(symbols);
	elf_file_close(file);
	return 0;
}
