/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_file.h - the DWARF of an ELF file, in no more memory than it takes.
 */
#ifndef HEAPAGENT_DWARF_FILE_H
#define HEAPAGENT_DWARF_FILE_H

#include <elfutils/libdw.h>

#include "elf_file.h"

struct dwarf_file {
	Dwarf *dwarf;
	Elf *elf; /* that it reads */
	bool owns_elf;
};

/* False if the file has no DWARF. The file must outlive the result. */
bool dwarf_file_open(struct elf_file *file, struct dwarf_file *opened);
void dwarf_file_close(struct dwarf_file *opened);

/*
 * Forgets what libdw has kept of all that was read. No Dwarf_Die, Dwarf_CU,
 * or text from libdw is valid afterwards. False: there is no DWARF any more.
 */
bool dwarf_file_renew(struct dwarf_file *opened);

#endif
