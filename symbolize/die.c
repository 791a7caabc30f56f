/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die.c - what one DWARF entry (die) says of itself.
 */
#include "die.h"

#include <dwarf.h>
#include <stddef.h>
#include <stdint.h>

bool
die_next_sibling(Dwarf_Die *die)
{
	Dwarf_Die next;
	if (dwarf_siblingof(die, &next) || next.addr <= die->addr)
		return false;
	*die = next;
	return true;
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
