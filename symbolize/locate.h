/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locate.h - the ELF files that belong to a mapping, wherever they are now.
 *
 * For a mapping with a build-id, a file with another build-id is never used;
 * one at the mapping's own name is remembered, so that it can be named, as is
 * one that cannot be read. A mapping without one is served by the file of its
 * name, as it is today.
 */
#ifndef HEAPAGENT_LOCATE_H
#define HEAPAGENT_LOCATE_H

#include <stddef.h>

#include "elf_file.h"

struct locate_options {
	const char *sysroot;	 /* NULL: the root of this machine */
	const char **debug_dirs; /* in front of /usr/lib/debug */
	size_t debug_dir_count;
	bool debuginfod; /* ask the servers of $DEBUGINFOD_URLS */
};

struct located {
	struct elf_file *program; /* what was mapped; NULL: not found */
	struct elf_file *debug;	  /* with DWARF or symbols; may be == program */
	struct elf_file *mini;	  /* MiniDebugInfo of program, or NULL */
	/* A file of the right name that is not the one wanted, or NULL; and
	 * what is wrong with it, NULL: it has another build-id. */
	char *refused;
	const char *damage;
	int not_found; /* see not_found.h */
};

/*
 * Looks for the files of a mapping by name and build-id ("" if unknown), in
 * this order: the named file, .build-id trees, .gnu_debuglink beside it and
 * under the debug directories, debuginfod if asked, .gnu_debugdata.
 */
void locate(const struct locate_options *options, const char *name,
	    const char *build_id, struct located *located);

/*
 * The supplementary file (dwz) with that name and build-id that a debug file
 * refers to, or NULL.
 */
struct elf_file *locate_supplement(const struct locate_options *options,
				   const char *debug_path, const char *name,
				   const struct build_id *id);

void located_close(struct located *located);

#endif
