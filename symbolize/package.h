/* SPDX-License-Identifier: Apache-2.0 */
/*
 * package.h - split DWARF that was packed into one file (.dwp).
 *
 * elfutils 0.188, Debian 12's, reads .dwo files but not packages of them. A
 * package's index says where in each section a unit's part is; here those
 * parts are shown to libdw as a file of their own, without being copied.
 */
#ifndef HEAPAGENT_PACKAGE_H
#define HEAPAGENT_PACKAGE_H

#include <elfutils/libdw.h>

#include "elf_file.h"

struct package;

/*
 * The package of a program or of its debug file: PATH.dwp beside it. NULL if
 * there is none that can be read. The file must outlive it.
 */
struct package *package_open(struct elf_file *file);
void package_close(struct package *package);

/*
 * The top die of the unit with that dwo_id, whose skeleton is in the program,
 * and the base of its range lists. It, and all texts that came from the unit
 * before, are gone after the next call. False: not in the package.
 */
bool package_find(struct package *package, Dwarf_Die *skeleton, uint64_t id,
		  Dwarf_Die *die, uint64_t *base);

#endif
