/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_file.c - the DWARF of an ELF file, in no more memory than it takes.
 *
 * A file whose sections are not compressed is mapped: only pages that are
 * looked at become resident. One whose sections are compressed is read: libelf
 * frees the packed bytes of a section once it is unpacked, while a mapping
 * would keep them resident beside it.
 */
#include "dwarf_file.h"

#include <gelf.h>
#include <string.h>

/*
 * No name or line comes from these. libdw unpacks all that it knows when it
 * opens a file; .debug_loclists alone is an eighth of a C++ library's DWARF.
 */
static const char *const unneeded[] = {
	"aranges", "frame", "loc",	"loclists",
	"macinfo", "macro", "pubnames", "pubtypes",
};

static bool
is_unneeded(const char *name)
{
	static const char plain[] = ".debug_", packed[] = ".zdebug_";
	if (!strncmp(name, plain, sizeof(plain) - 1))
		name += sizeof(plain) - 1;
	else if (!strncmp(name, packed, sizeof(packed) - 1))
		name += sizeof(packed) - 1;
	else
		return false;
	for (size_t i = 0; i < sizeof(unneeded) / sizeof(*unneeded); i++)
		if (!strcmp(name, unneeded[i]))
			return true;
	return false;
}

/* In memory only: libdw passes over sections that have no bytes. */
static void
hide_unneeded(Elf *elf)
{
	size_t names;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header))
			continue;
		const char *name = elf_strptr(elf, names, header.sh_name);
		if (!name || !is_unneeded(name))
			continue;
		header.sh_type = SHT_NOBITS;
		gelf_update_shdr(section, &header);
	}
}

bool
dwarf_file_renew(struct dwarf_file *opened)
{
	dwarf_end(opened->dwarf);
	opened->dwarf = dwarf_begin_elf(opened->elf, DWARF_C_READ, NULL);
	return opened->dwarf;
}

bool
dwarf_file_open(struct elf_file *file, struct dwarf_file *opened)
{
	*opened = (struct dwarf_file){ .elf = NULL };
	if (file->fd >= 0 && elf_file_is_packed(file))
		opened->elf = elf_begin(file->fd, ELF_C_READ, NULL);
	opened->owns_elf = opened->elf;
	if (!opened->elf)
		opened->elf = file->elf;
	hide_unneeded(opened->elf);
	if (dwarf_file_renew(opened))
		return true;
	dwarf_file_close(opened);
	return false;
}

void
dwarf_file_close(struct dwarf_file *opened)
{
	dwarf_end(opened->dwarf);
	if (opened->owns_elf)
		elf_end(opened->elf);
	*opened = (struct dwarf_file){ .elf = NULL };
}
