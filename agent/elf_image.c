/* SPDX-License-Identifier: Apache-2.0 */
/* elf_image.c - reads program headers in place; see elf_image.h. */
#include "elf_image.h"

#include <elf.h>
#include <string.h>

#include "compiler.h"

#define PAGE_BYTES ((uintptr_t)4096)

static const Elf64_Phdr *
header_at(const struct elf_image *in, unsigned i)
{
	return (const Elf64_Phdr *)in->headers + i;
}

static bool
find_headers(struct elf_image *in)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)in->map_start;

	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh->e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh->e_phentsize != sizeof(Elf64_Phdr) || eh->e_phoff % 8 != 0 ||
	    eh->e_phoff > PAGE_BYTES ||
	    eh->e_phnum > (PAGE_BYTES - eh->e_phoff) / sizeof(Elf64_Phdr))
		return false;
	in->headers = in->map_start + eh->e_phoff;
	in->header_count = eh->e_phnum;
	return true;
}

/* The readable loaded segment that holds [address, address + size_bytes). */
static const Elf64_Phdr *
segment_of(const struct elf_image *in, uintptr_t address, uintptr_t size_bytes)
{
	for (unsigned i = 0; i < in->header_count; i++) {
		const Elf64_Phdr *ph = header_at(in, i);
		uintptr_t start = in->bias + ph->p_vaddr;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_R) ||
		    start < in->map_start || start > in->map_end ||
		    ph->p_filesz > in->map_end - start)
			continue;
		if (address >= start && address - start <= ph->p_filesz &&
		    size_bytes <= ph->p_filesz - (address - start))
			return ph;
	}
	return NULL;
}

/* Takes in the executable segments that one mapping can describe. */
static void
read_text(struct elf_image *in)
{
	for (unsigned i = 0; i < in->header_count; i++) {
		const Elf64_Phdr *ph = header_at(in, i);
		uintptr_t start = ph->p_vaddr & ~(PAGE_BYTES - 1);
		uint64_t offset = ph->p_offset & ~(uint64_t)(PAGE_BYTES - 1);

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		if (in->text_end == 0) {
			in->text_start = start;
			in->text_file_offset = offset;
		} else if (offset - in->text_file_offset !=
			   start - in->text_start) {
			continue;
		}
		in->text_end = ALIGN_UP(ph->p_vaddr + ph->p_memsz, PAGE_BYTES);
	}
}

/* Looks for the build-id among the notes of one PT_NOTE. */
static bool
read_notes(uintptr_t at, uintptr_t end, uintptr_t align,
	   struct elf_image *image)
{
	while (end - at >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *note = (const Elf64_Nhdr *)at;
		uintptr_t name = at + sizeof(*note);
		uintptr_t id, next;

		if (note->n_namesz > end - name)
			return false;
		id = at + ALIGN_UP(sizeof(*note) + note->n_namesz, align);
		if (id > end || note->n_descsz > end - id)
			return false;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    memcmp((const void *)name, "GNU", 4) == 0) {
			image->build_id = id;
			image->build_id_bytes = note->n_descsz;
			return true;
		}
		next = id + ALIGN_UP((uintptr_t)note->n_descsz, align);
		if (next > end)
			return false;
		at = next;
	}
	return false;
}

static void
read_build_id(struct elf_image *in)
{
	for (unsigned i = 0; i < in->header_count; i++) {
		const Elf64_Phdr *ph = header_at(in, i);
		uintptr_t start = in->bias + ph->p_vaddr;

		if (ph->p_type != PT_NOTE || start % 4 != 0 ||
		    segment_of(in, start, ph->p_memsz) == NULL)
			continue;
		if (read_notes(start, start + ph->p_memsz,
			       ph->p_align == 8 ? 8 : 4, in))
			return;
	}
}

bool
elf_image_read(uintptr_t map_start, uintptr_t map_end, uintptr_t bias,
	       uintptr_t eh_frame_hdr, struct elf_image *image)
{
	const Elf64_Phdr *ph;

	memset(image, 0, sizeof(*image));
	image->map_start = map_start;
	image->map_end = map_end;
	image->bias = bias;
	if (!find_headers(image))
		return false;
	read_text(image);
	read_build_id(image);
	ph = eh_frame_hdr ? segment_of(image, eh_frame_hdr, 8) : NULL;
	if (ph != NULL) {
		image->eh_start = bias + ph->p_vaddr;
		image->eh_end = image->eh_start + ph->p_filesz;
	}
	return true;
}
