/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_file.h - one ELF file: its build-id, its layout, its parts.
 *
 * Reading is libelf's; everything that comes out of the file is treated as
 * possibly wrong. Addresses are ELF virtual addresses, as in the file.
 */
#ifndef HEAPAGENT_ELF_FILE_H
#define HEAPAGENT_ELF_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reason.h"

#define BUILD_ID_MAX_BYTES 64

struct build_id {
	unsigned char bytes[BUILD_ID_MAX_BYTES];
	size_t count; /* 0: none */
};

struct elf_file {
	char *path;
	int fd;	      /* -1: from memory */
	void *memory; /* owned; NULL: from fd */
	Elf *elf;
	struct build_id build_id;
};

/*
 * Opens the file. -ENOEXEC: it is no ELF file; -EBADMSG: it is one that has
 * been cut short or damaged. root: see elf_file_open_under().
 */
int elf_file_open(const char *path, struct elf_file **file,
		  struct reason *reason);

/*
 * Opens path as a program whose root directory is root would: symbolic links
 * lead nowhere outside it.
 */
int elf_file_open_under(const char *root, const char *path,
			struct elf_file **file, struct reason *reason);

/* Opens an image in memory, which becomes the file's own (free()). */
int elf_file_open_memory(const char *name, void *memory, size_t bytes,
			 struct elf_file **file, struct reason *reason);

void elf_file_close(struct elf_file *file);

/* The content of a section (decompressed), or NULL. */
Elf_Data *elf_file_section(struct elf_file *file, const char *name);

/* Whether it has DWARF that describes code. */
bool elf_file_has_dwarf(struct elf_file *file);

/* Whether its DWARF is compressed, in either of the two ways. */
bool elf_file_is_packed(struct elf_file *file);

/*
 * The virtual address that the loader gives to a file offset, looked for in
 * executable segments first. False: in no segment.
 */
bool elf_file_address(struct elf_file *file, uint64_t file_offset,
		      uint64_t *address);

/*
 * Where the first loaded segment begins, page-aligned. The difference between
 * a program's and its debug file's is what prelink moved it by.
 */
bool elf_file_base(struct elf_file *file, uint64_t *address);

/* The page-aligned start of the only executable segment, if it is the only. */
bool elf_file_text(struct elf_file *file, uint64_t *address);

/* .gnu_debuglink: a file name without directory, and the file's CRC. */
bool elf_file_debuglink(struct elf_file *file, const char **name,
			uint32_t *crc);

/* .gnu_debugdata: the file compressed in it (MiniDebugInfo), or NULL. */
struct elf_file *elf_file_mini(struct elf_file *file);

/* "ab12…" → bytes; count 0 if it is not an even number of hex digits. */
struct build_id build_id_parse(const char *hex);
bool build_id_equal(const struct build_id *a, const struct build_id *b);
/* Writes 2 * count hex digits and a NUL. */
void build_id_format(const struct build_id *id,
		     char text[2 * BUILD_ID_MAX_BYTES + 1]);

#endif
