/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_config.c - finds the agent's variable `config` by the symbol table of
 * the library's file, and reads it with process_vm_readv(2).
 */
#include "agent_config.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* The address of `config` in its file if it has our size, else 0. */
static GElf_Addr
find_in_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;
	const char *name;

	if (!data || header->sh_entsize == 0)
		return 0;
	for (size_t i = 0; i < header->sh_size / header->sh_entsize; i++) {
		if (!gelf_getsym(data, (int)i, &symbol) ||
		    GELF_ST_TYPE(symbol.st_info) != STT_OBJECT)
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (name && strcmp(name, "config") == 0 &&
		    symbol.st_size == sizeof(struct config))
			return symbol.st_value;
	}
	return 0;
}

static GElf_Addr
find_config(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Addr address = 0;

	while (elf && !address && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) &&
		    header.sh_type == SHT_SYMTAB)
			address = find_in_table(elf, section, &header);
	elf_end(elf);
	return address;
}

/*
 * True if the file's first bytes are those of the mapping: header and build-id
 * lie there. A file that was replaced would give a wrong address.
 */
static bool
same_file(int fd, const struct process *process)
{
	char on_disk[1024], loaded[sizeof(on_disk)];
	struct iovec to = { loaded, sizeof(loaded) };
	struct iovec from = { (void *)process->library_base, sizeof(loaded) };

	return pread(fd, on_disk, sizeof(on_disk), 0) ==
		       (ssize_t)sizeof(on_disk) &&
	       process_vm_readv(process->pid, &to, 1, &from, 1, 0) ==
		       (ssize_t)sizeof(loaded) &&
	       memcmp(on_disk, loaded, sizeof(on_disk)) == 0;
}

int
agent_config_read(const struct process *process, struct config *settings)
{
	char path[PATH_MAX + 64];
	struct iovec to = { settings, sizeof(*settings) };
	struct iovec from = { NULL, sizeof(*settings) };
	GElf_Addr address = 0;
	int fd;

	snprintf(path, sizeof(path), "%s%s", process->root, process->library);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	if (same_file(fd, process))
		address = find_config(fd);
	close(fd);
	if (address == 0)
		return -ENOENT;
	/* A shared library's file begins at address 0. */
	from.iov_base = (void *)(process->library_base + address);
	if (process_vm_readv(process->pid, &to, 1, &from, 1, 0) !=
	    (ssize_t)sizeof(*settings))
		return -errno;
	/* Never read, so no dump is possible; or not what we think it is. */
	if (settings->directory[0] != '/' ||
	    !memchr(settings->directory, '\0', sizeof(settings->directory)) ||
	    settings->signal < 0 || settings->signal > 64)
		return -ENOENT;
	return 0;
}
