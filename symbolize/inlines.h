/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inlines.h - DWARF: the functions, files and lines at an address.
 *
 * DWARF 2 to 5, split (.dwo) and compressed sections, supplementary files,
 * read with libdw. The last compile unit and the last function looked into are
 * remembered: addresses in the order of their units, ascending in each, cost
 * little more than the DWARF they touch, in time and in memory.
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

/* One function of a chain. The texts live until the next call. */
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
 * Whether something could not be read so far: the DWARF is damaged, or of a
 * form that libdw does not know.
 */
bool inlines_damaged(const struct inlines *inlines);

/* The number of the unit that an address is in, or one greater than all. */
size_t inlines_unit(const struct inlines *inlines, uint64_t address);

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
