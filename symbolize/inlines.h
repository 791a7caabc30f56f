/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inlines.h - DWARF: the functions, files and lines at an address.
 *
 * DWARF 2 to 5, split (.dwo) and compressed sections, supplementary files,
 * read with libdw. A compile unit is indexed when the first address falls in
 * it; the last function looked into is remembered, so that addresses in
 * ascending order cost little more than the DWARF they touch.
 */
#ifndef HEAPAGENT_INLINES_H
#define HEAPAGENT_INLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "locate.h"

/* Compilers inline some tens deep; the chain is cut at this. */
#define INLINES_MAX 256

struct inlines;

/* One function of a chain. The texts live as long as the struct inlines. */
struct inline_frame {
	const char *name; /* linkage name if there is one; NULL: unnamed */
	const char *file; /* where the line is, or NULL */
	int line;	  /* 0: unknown */
	const char *function_file; /* where the function begins, or NULL */
	int function_line;	   /* 0: unknown */
};

/*
 * NULL if the file has no DWARF. The file must outlive the result. options
 * serve to find the supplementary file.
 */
struct inlines *inlines_open(struct elf_file *file,
			     const struct locate_options *options);
void inlines_close(struct inlines *inlines);

/*
 * The chain at an address of the file, the innermost first, the function that
 * all others were inlined into last. Returns the number of frames, 0 if the
 * DWARF says nothing. With only_outermost, the chain is that function alone,
 * at the line of its call.
 */
size_t inlines_find(struct inlines *inlines, uint64_t address,
		    bool only_outermost,
		    struct inline_frame frames[INLINES_MAX]);

#endif
