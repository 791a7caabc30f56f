/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h - the loaded ELF files that frames have been seen in.
 *
 * A module gets its record, and with it its number, when the unwinder first
 * meets an address in it. The record is immutable after publish and is never
 * reused: a library loaded later at the same address, under the same
 * link_map even, gets another (they are told apart by name, build-id and
 * layout). Everything a profile says of a module is copied when the record is
 * made, so that it outlives dlclose.
 *
 * Finding a module uses _dl_find_object (glibc 2.35: lock-free, safe in a
 * signal handler); no loader lock, no descriptor, no allocation.
 */
#ifndef HEAPAGENT_MODULES_H
#define HEAPAGENT_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#define MODULE_BUILD_ID_MAX 32
#define MODULES_MAX 4096

/* In the region (table "modules"). Immutable after publish. */
struct module {
	uint64_t map_start; /* [map_start, map_end): the whole load */
	uint64_t map_end;
	uint64_t bias;	     /* address minus ELF virtual address */
	uint64_t text_start; /* ELF virtual addresses of the code, page-aligned
			      */
	uint64_t text_end;
	uint64_t text_file_offset; /* of text_start */
	uint64_t eh_frame_hdr;	   /* address; 0: none */
	uint64_t eh_start;	   /* the readable segment(s) around it: */
	uint64_t eh_end;   /* no read of CFI leaves [eh_start, eh_end) */
	uint64_t link_map; /* the loader's identity; never dereferenced */
	uint32_t path;	   /* region_offset of the NUL-terminated file name */
	uint32_t build_id_bytes;
	unsigned char build_id[MODULE_BUILD_ID_MAX];
};

/*
 * Makes the table in the region, and in it the executable's record, which is
 * number 1. 0 or -ENOMEM. [init]
 */
int modules_init(void);

/*
 * Makes the records of all files that are loaded now, for which the kernel is
 * asked what can be read of them: a sample later on, in a sandbox that kills
 * for that, need not. Calls the loader. [init]
 */
void modules_meet_loaded(void);

/*
 * The number of the module that holds the address (1 to MODULES_MAX - 1), 0
 * if no module does or the table is full (counted). Lock-free. Reads of the
 * loader's structures are done so that a module closed meanwhile does no
 * harm. [any]
 */
unsigned modules_find(uintptr_t address);

/* The record of a number that modules_find() or a frame gave. [any] */
const struct module *module_at(unsigned number);

/* How many records there are, number 0 included. [any] */
unsigned modules_count(void);

/*
 * Around the real dlclose: while one runs, and for whatever was cached before
 * it ended, no cached row is believed. [hook]
 */
void modules_close_begin(void);
void modules_close_end(void);

/*
 * The generation that rows are cached under, or 0 while a dlclose runs (do
 * not use the cache then). Pairs with modules_close_end(). [any]
 */
uint64_t modules_generation(void);

/* After fork: a dlclose that ran in another thread will not end here. [any] */
void modules_fork_child(void);

#endif
