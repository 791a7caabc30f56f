/* SPDX-License-Identifier: Apache-2.0 */
/*
 * package.c - split DWARF that was packed into one file (.dwp).
 *
 * An image in memory that libelf takes for a file:
 *
 *	| header, section headers, names | package file | .debug_addr, ... |
 *	0                                page           of the program
 *
 * The package is mapped in its middle; for each unit only the section headers
 * are written anew, and point at the unit's parts. Under their plain names
 * (.debug_info, not .debug_info.dwo), so that libdw takes program and unit
 * for one: indices into .debug_addr are followed without the skeleton.
 *
 * The index: DWARF 5, 7.3.5.3; its first form: "DWARF package file format",
 * gcc.gnu.org/wiki/DebugFissionDWP.
 */
#include "package.h"

#include <dwarf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

#define HEAD_BYTES 4096
#define PACKAGE_MAX_BYTES (UINT64_C(1) << 36)

/* Columns of the index that a unit needs. */
enum column { INFO, ABBREV, LINE, OFFSETS, RNGLISTS, COLUMNS };

struct part {
	uint64_t offset;
	uint64_t bytes;
};

struct package {
	struct elf_file *file; /* the .dwp */
	unsigned char *image;
	size_t image_bytes;
	struct part sections[COLUMNS]; /* of the package file, whole */
	struct part strings;
	struct part addresses; /* of the program, in the image */
	struct part ranges;
	const unsigned char *index;
	size_t index_bytes;
	Elf *elf; /* of the unit that is open */
	Dwarf *dwarf;
};

static const char *const section_names[COLUMNS] = {
	".debug_info.dwo",	  ".debug_abbrev.dwo",	 ".debug_line.dwo",
	".debug_str_offsets.dwo", ".debug_rnglists.dwo",
};

static uint32_t
word_at(const unsigned char *bytes, size_t index)
{
	uint32_t word;
	memcpy(&word, bytes + 4 * index, sizeof(word));
	return word;
}

/* Where an uncompressed section is in its file; empty if it is not. */
static struct part
part_of(struct elf_file *file, const char *name)
{
	size_t names;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	if (elf_getshdrstrndx(file->elf, &names))
		return (struct part){ 0, 0 };
	while ((section = elf_nextscn(file->elf, section))) {
		if (!gelf_getshdr(section, &header))
			continue;
		const char *its = elf_strptr(file->elf, names, header.sh_name);
		if (its && !strcmp(its, name) && header.sh_type != SHT_NOBITS &&
		    !(header.sh_flags & SHF_COMPRESSED))
			return (struct part){ header.sh_offset,
					      header.sh_size };
	}
	return (struct part){ 0, 0 };
}

static struct part
copy_section(struct package *package, struct elf_file *program,
	     const char *name, size_t *used)
{
	Elf_Data *data = elf_file_section(program, name);
	if (!data || !data->d_buf)
		return (struct part){ 0, 0 };
	struct part part = { *used, data->d_size };
	memcpy(package->image + *used, data->d_buf, data->d_size);
	*used += data->d_size;
	return part;
}

static size_t
section_bytes(struct elf_file *file, const char *name)
{
	Elf_Data *data = elf_file_section(file, name);
	return data && data->d_buf ? data->d_size : 0;
}

static bool
make_image(struct package *package, struct elf_file *program)
{
	struct stat status;
	if (fstat(package->file->fd, &status) || status.st_size <= 0 ||
	    (uint64_t)status.st_size > PACKAGE_MAX_BYTES)
		return false;
	size_t file_bytes = (size_t)status.st_size;
	size_t used = HEAD_BYTES + ((file_bytes + HEAD_BYTES - 1) &
				    ~(size_t)(HEAD_BYTES - 1));
	package->image_bytes = used + section_bytes(program, ".debug_addr") +
			       section_bytes(program, ".debug_ranges");
	package->image =
		mmap(NULL, package->image_bytes, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (package->image == MAP_FAILED) {
		package->image = NULL;
		return false;
	}
	/* What is mapped to be read costs no memory, and no bound on it. */
	if (mprotect(package->image, HEAD_BYTES, PROT_READ | PROT_WRITE) ||
	    mprotect(package->image + used, package->image_bytes - used,
		     PROT_READ | PROT_WRITE) ||
	    mmap(package->image + HEAD_BYTES, file_bytes, PROT_READ,
		 MAP_PRIVATE | MAP_FIXED, package->file->fd, 0) == MAP_FAILED)
		return false;
	package->addresses =
		copy_section(package, program, ".debug_addr", &used);
	package->ranges =
		copy_section(package, program, ".debug_ranges", &used);
	/* Parts of the package are given by their place in the image. */
	for (int i = 0; i < COLUMNS; i++) {
		package->sections[i] = part_of(package->file, section_names[i]);
		package->sections[i].offset += HEAD_BYTES;
	}
	package->strings = part_of(package->file, ".debug_str.dwo");
	package->strings.offset += HEAD_BYTES;
	return true;
}

struct package *
package_open(struct elf_file *file)
{
	struct reason reason;
	struct package *package = memory_get(sizeof(*package));
	char *path = memory_format("%s.dwp", file->path);
	bool found = !elf_file_open(path, &package->file, &reason);
	free(path);
	Elf_Data *index =
		found ? elf_file_section(package->file, ".debug_cu_index")
		      : NULL;
	if (index && index->d_buf && make_image(package, file)) {
		package->index = index->d_buf;
		package->index_bytes = index->d_size;
		return package;
	}
	package_close(package);
	return NULL;
}

static void
close_unit(struct package *package)
{
	dwarf_end(package->dwarf);
	elf_end(package->elf);
	package->dwarf = NULL;
	package->elf = NULL;
}

void
package_close(struct package *package)
{
	if (!package)
		return;
	close_unit(package);
	if (package->image)
		munmap(package->image, package->image_bytes);
	elf_file_close(package->file);
	free(package);
}

/* The column for a section's number in the index, or COLUMNS. */
static enum column
column_of(uint32_t section, unsigned version)
{
	switch (section) {
	case 1:
		return INFO;
	case 3:
		return ABBREV;
	case 4:
		return LINE;
	case 6:
		return OFFSETS;
	case 8:
		return version == 5 ? RNGLISTS : COLUMNS;
	default:
		return COLUMNS;
	}
}

/* The row of a unit in the index, from 1; 0: none. */
static uint32_t
find_row(const unsigned char *slots, uint32_t slot_count, uint64_t id)
{
	for (uint32_t i = 0; i < slot_count; i++) {
		uint64_t its;
		memcpy(&its, slots + 8 * (size_t)i, sizeof(its));
		uint32_t row = word_at(slots + 8 * (size_t)slot_count, i);
		if (its == id && row)
			return row;
	}
	return 0;
}

/*
 * The index: version, columns, units, slots; 64-bit ids and 32-bit rows of
 * all slots; then the table: a row of section numbers, rows of offsets, rows
 * of sizes.
 */
static bool
find_parts(const struct package *package, uint64_t id,
	   struct part parts[COLUMNS])
{
	const unsigned char *index = package->index;
	if (package->index_bytes < 16)
		return false;
	unsigned version = word_at(index, 0) & 0xffff;
	size_t columns = word_at(index, 1), units = word_at(index, 2);
	size_t slots = word_at(index, 3);
	if ((version != 2 && version != 5) || columns > 64 ||
	    16 + 12 * slots + 4 * columns * (1 + 2 * units) >
		    package->index_bytes)
		return false;
	uint32_t row = find_row(index + 16, (uint32_t)slots, id);
	if (!row || row > units)
		return false;
	const unsigned char *table = index + 16 + 12 * slots;
	for (size_t i = 0; i < columns; i++) {
		enum column column = column_of(word_at(table, i), version);
		if (column == COLUMNS)
			continue;
		const struct part *whole = &package->sections[column];
		uint64_t offset = word_at(table, row * columns + i);
		uint64_t bytes = word_at(table, (units + row) * columns + i);
		if (offset > whole->bytes || bytes > whole->bytes - offset)
			return false;
		parts[column] = (struct part){ whole->offset + offset, bytes };
	}
	return parts[INFO].bytes && parts[ABBREV].bytes;
}

struct head {
	Elf64_Ehdr elf;
	Elf64_Shdr sections[12];
	char names[512];
	size_t names_bytes;
};
_Static_assert(sizeof(struct head) <= HEAD_BYTES, "the head fits its page");

static void
add_section(struct head *head, const char *name, uint32_t type,
	    struct part part)
{
	if (!part.bytes)
		return;
	Elf64_Shdr *section = &head->sections[head->elf.e_shnum++];
	*section = (Elf64_Shdr){
		.sh_name = (Elf64_Word)head->names_bytes,
		.sh_type = type,
		.sh_offset = part.offset,
		.sh_size = part.bytes,
		.sh_addralign = 1,
	};
	size_t bytes = strlen(name) + 1;
	memcpy(head->names + head->names_bytes, name, bytes);
	head->names_bytes += bytes;
}

/* What is left of a section from a unit's base on. */
static struct part
rest_of(struct part part, uint64_t base)
{
	if (base > part.bytes)
		return (struct part){ 0, 0 };
	return (struct part){ part.offset + base, part.bytes - base };
}

static uint64_t
base_of(Dwarf_Die *skeleton, unsigned int name, unsigned int old_name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	if (dwarf_formudata(dwarf_attr(skeleton, name, &attribute), &value) &&
	    dwarf_formudata(dwarf_attr(skeleton, old_name, &attribute), &value))
		return 0;
	return value;
}

static void
write_head(struct package *package, Dwarf_Die *skeleton,
	   const struct part parts[COLUMNS])
{
	struct head *head = (struct head *)package->image;
	memset(head, 0, sizeof(*head));
	memcpy(head->elf.e_ident, ELFMAG, SELFMAG);
	head->elf.e_ident[EI_CLASS] = ELFCLASS64;
	head->elf.e_ident[EI_DATA] = ELFDATA2LSB;
	head->elf.e_ident[EI_VERSION] = EV_CURRENT;
	head->elf.e_type = ET_DYN;
	head->elf.e_machine = EM_X86_64;
	head->elf.e_version = EV_CURRENT;
	head->elf.e_ehsize = sizeof(head->elf);
	head->elf.e_shentsize = sizeof(head->sections[0]);
	head->elf.e_shoff = offsetof(struct head, sections);
	head->elf.e_shnum = 1; /* the first is always empty */
	head->names_bytes = 1;
	add_section(head, ".debug_info", SHT_PROGBITS, parts[INFO]);
	add_section(head, ".debug_abbrev", SHT_PROGBITS, parts[ABBREV]);
	add_section(head, ".debug_line", SHT_PROGBITS, parts[LINE]);
	add_section(head, ".debug_str_offsets", SHT_PROGBITS, parts[OFFSETS]);
	add_section(head, ".debug_rnglists", SHT_PROGBITS, parts[RNGLISTS]);
	add_section(head, ".debug_str", SHT_PROGBITS, package->strings);
	add_section(head, ".debug_addr", SHT_PROGBITS,
		    rest_of(package->addresses,
			    base_of(skeleton, DW_AT_addr_base,
				    DW_AT_GNU_addr_base)));
	add_section(head, ".debug_ranges", SHT_PROGBITS,
		    rest_of(package->ranges,
			    base_of(skeleton, DW_AT_GNU_ranges_base,
				    DW_AT_GNU_ranges_base)));
	add_section(head, ".shstrtab", SHT_STRTAB,
		    (struct part){ offsetof(struct head, names),
				   sizeof(head->names) });
	head->elf.e_shstrndx = head->elf.e_shnum - 1;
}

bool
package_find(struct package *package, Dwarf_Die *skeleton, uint64_t id,
	     Dwarf_Die *die, uint64_t *base)
{
	struct part parts[COLUMNS] = { { 0, 0 } };
	Dwarf_CU *cu = NULL;
	close_unit(package);
	if (!find_parts(package, id, parts))
		return false;
	write_head(package, skeleton, parts);
	package->elf = elf_memory((char *)package->image, package->image_bytes);
	if (package->elf)
		package->dwarf =
			dwarf_begin_elf(package->elf, DWARF_C_READ, NULL);
	if (dwarf_lowpc(skeleton, base))
		*base = 0;
	return package->dwarf && !dwarf_get_units(package->dwarf, NULL, &cu,
						  NULL, NULL, die, NULL);
}
