/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object.h - one mapped file, with everything known about its addresses.
 *
 * Joins locate, symbols and inlines: DWARF where there is some, else the
 * symbol tables.
 */
#ifndef HEAPAGENT_OBJECT_H
#define HEAPAGENT_OBJECT_H

#include "inlines.h"

struct object;

/* Never NULL: an object of which nothing was found answers nothing. */
struct object *object_open(const struct locate_options *options,
			   const char *name, const char *build_id);
void object_close(struct object *object);

/* What was looked for and not found: see not_found.h. */
int object_not_found(const struct object *object);

/*
 * The file that was refused, or NULL, and in damage what is wrong with it; NULL
 * there: it has another build-id.
 */
const char *object_refused(const struct object *object, const char **damage);

/*
 * The file whose debug information could not be read to its end so far, or
 * NULL.
 */
const char *object_damaged(const struct object *object);

/* Whether any file was found for it, and whether it has DWARF. */
bool object_found(const struct object *object);
bool object_has_lines(const struct object *object);

/* How much there is to read in its files. */
uint64_t object_bytes(const struct object *object);

/*
 * Offsets in the order of these numbers are found in the least time and
 * memory; of equal numbers, in their own order.
 */
size_t object_order(struct object *object, uint64_t file_offset,
		    uint64_t mapping_offset);

/*
 * The chain at a file offset, as inlines_find(). mapping_offset is the file
 * offset of the mapping it is in, used when the program itself is not there.
 */
size_t object_find(struct object *object, uint64_t file_offset,
		   uint64_t mapping_offset, bool only_outermost,
		   struct inline_frame frames[INLINES_MAX]);

/*
 * How far into its function the address at a file offset is, by the symbol
 * tables. False if they have none there.
 */
bool object_function_offset(struct object *object, uint64_t file_offset,
			    uint64_t mapping_offset, uint64_t *offset);

#endif
