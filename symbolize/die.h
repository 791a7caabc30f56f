/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die.h - what one DWARF entry (die) says of itself.
 */
#ifndef HEAPAGENT_DIE_H
#define HEAPAGENT_DIE_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/*
 * The first die below it, or the next of its level: whether there is one. What
 * cannot be read or leads back is the end, and sets *damaged.
 */
bool die_first_child(Dwarf_Die *parent, Dwarf_Die *child, bool *damaged);
bool die_next_sibling(Dwarf_Die *die, bool *damaged);

/* Reads the line table of a unit, if it has one: libdw keeps it. */
void die_read_lines(Dwarf_Die *unit, bool *damaged);

/* The linkage name, else the plain one, of it or its origin; or NULL. */
const char *die_name(Dwarf_Die *die);

/* A number of its own, 0 if there is none or it is negative or huge. */
int die_number(Dwarf_Die *die, unsigned int attribute);

/* The directory that a unit was compiled in, or NULL. */
const char *die_directory(Dwarf_Die *unit);

#endif
