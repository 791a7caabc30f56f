/* SPDX-License-Identifier: Apache-2.0 */
/* own_malloc.c - by libelf; see own_malloc.h. */
#include "own_malloc.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

static bool
has_malloc(Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name;

		if (symbol.st_shndx == SHN_UNDEF ||
		    GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (name && strcmp(name, "malloc") == 0)
			return true;
	}
	return false;
}

bool
own_malloc(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf_Scn *section = NULL;
	bool found = false;
	GElf_Shdr header;
	Elf *elf;

	(void)elf_version(EV_CURRENT);
	elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	while (elf && !found && (section = elf_nextscn(elf, section)))
		found = gelf_getshdr(section, &header) &&
			header.sh_type == SHT_DYNSYM &&
			has_malloc(elf, section, &header);
	(void)elf_end(elf);
	if (fd >= 0)
		close(fd);
	return found;
}
