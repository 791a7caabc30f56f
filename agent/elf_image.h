/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_image.h - what the headers of a loaded ELF file say of its layout.
 *
 * Reads the image in memory, and of that only the first page, where the ELF
 * header and the program headers are, and the build-id note, where a loaded
 * segment holds it. A header that says anything unexpected is as good as none.
 */
#ifndef HEAPAGENT_ELF_IMAGE_H
#define HEAPAGENT_ELF_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

struct elf_image {
	uintptr_t text_start; /* ELF virtual addresses, page-aligned */
	uintptr_t text_end;
	uint64_t text_file_offset;
	uintptr_t eh_start; /* addresses of the segment of .eh_frame_hdr */
	uintptr_t eh_end;
	uintptr_t build_id; /* address of build_id_bytes bytes; 0: none */
	uint32_t build_id_bytes;
	/* The reader's own: the program headers, in the image. */
	uint32_t header_count;
	uintptr_t headers;
	uintptr_t map_start;
	uintptr_t map_end;
	uintptr_t bias;
};

/*
 * Reads the headers of the image in [map_start, map_end), whose first page is
 * readable, with the given bias and .eh_frame_hdr address (0: none). False if
 * there are no headers to be read there; *image is then all zero. [any]
 */
bool elf_image_read(uintptr_t map_start, uintptr_t map_end, uintptr_t bias,
		    uintptr_t eh_frame_hdr, struct elf_image *image);

#endif
