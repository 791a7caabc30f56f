/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.h - the symbol tables of ELF files, by address.
 *
 * Where there is no DWARF, the name of the function is all there is. Symbols
 * of several files (.symtab of the debug file, .dynsym of the program,
 * MiniDebugInfo) go into one table; the files must outlive it.
 */
#ifndef HEAPAGENT_SYMBOLS_H
#define HEAPAGENT_SYMBOLS_H

#include "elf_file.h"

struct symbols;

struct symbols *symbols_new(void);
void symbols_free(struct symbols *symbols);

/*
 * Adds the functions of .symtab and .dynsym; bias is added to each address.
 */
void symbols_add(struct symbols *symbols, struct elf_file *file, uint64_t bias);

/*
 * The raw name of the function at an address: the one that contains it, the
 * nearest one, global before weak before local. A symbol without a size
 * reaches up to the next symbol. NULL: none. Sorts on the first call.
 */
const char *symbols_find(struct symbols *symbols, uint64_t address);

/* Where that function begins; false if there is none. */
bool symbols_start(struct symbols *symbols, uint64_t address, uint64_t *start);

#endif
