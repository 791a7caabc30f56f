/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die.h - what one DWARF entry (die) says of itself.
 */
#ifndef HEAPAGENT_DIE_H
#define HEAPAGENT_DIE_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/* The next die of the same level; false at the end or if it leads back. */
bool die_next_sibling(Dwarf_Die *die);

/* The linkage name, else the plain one, of it or its origin; or NULL. */
const char *die_name(Dwarf_Die *die);

/* A number of its own, 0 if there is none or it is negative or huge. */
int die_number(Dwarf_Die *die, unsigned int attribute);

/* The directory that a unit was compiled in, or NULL. */
const char *die_directory(Dwarf_Die *unit);

#endif
