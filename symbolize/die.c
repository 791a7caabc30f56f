/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die.c - what one DWARF entry (die) says of itself.
 */
#include "die.h"

#include <dwarf.h>
#include <stddef.h>
#include <stdint.h>

bool
die_first_child(Dwarf_Die *parent, Dwarf_Die *child, bool *damaged)
{
	int end = dwarf_child(parent, child);
	*damaged = *damaged || end < 0;
	return !end;
}

bool
die_next_sibling(Dwarf_Die *die, bool *damaged)
{
	Dwarf_Die next;
	int end = dwarf_siblingof(die, &next);
	if (!end && next.addr <= die->addr)
		end = -1;
	*damaged = *damaged || end < 0;
	if (!end)
		*die = next;
	return !end;
}

void
die_read_lines(Dwarf_Die *unit, bool *damaged)
{
	Dwarf_Lines *lines;
	size_t count;
	if (dwarf_hasattr(unit, DW_AT_stmt_list) &&
	    dwarf_getsrclines(unit, &lines, &count))
		*damaged = true;
}

const char *
die_name(Dwarf_Die *die)
{
	static const unsigned int attributes[] = {
		DW_AT_linkage_name,
		DW_AT_MIPS_linkage_name,
		DW_AT_name,
	};
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
		Dwarf_Attribute attribute;
		const char *name = dwarf_formstring(
			dwarf_attr_integrate(die, attributes[i], &attribute));
		if (name && *name)
			return name;
	}
	return NULL;
}

int
die_number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) ||
	    value > INT32_MAX)
		return 0;
	return (int)value;
}

const char *
die_directory(Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	return dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
}
