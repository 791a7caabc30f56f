/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inlines.c - DWARF: the functions, files and lines at an address.
 *
 *	ranges        | low, high, unit |            sorted, all units
 *	units         | offset of the unit's die |
 *	unit          the open one: line table (libdw's), functions
 *	  ranges      | low, high, function |        sorted, one unit
 *	body          of one function: inlined dies in pre-order, each with
 *	              its parent, and the ranges of each
 *
 * Compile units come from their own range lists, not from .debug_aranges,
 * which clang and rustc do not write. Functions in the unit's namespaces are
 * taken first; types and function bodies, where most of the DWARF is, are
 * only searched for further functions if that did not find one.
 *
 * libdw keeps all that it has read; of line tables it makes ten times their
 * bytes. So it is begun anew between two units once it has grown, and nothing
 * that it gave out outlives a unit.
 *
 * Input is not trusted: a sibling must lie behind its elder, depth and the
 * number of ranges are bounded.
 */
#include "inlines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <stdlib.h>
#include <string.h>

#include "die.h"
#include "dwarf_file.h"
#include "memory.h"
#include "package.h"
#include "ranges.h"
#include "source_path.h"

#define DEPTH_MAX 256
/* A binary of 2 GB of DWARF (Chromium) has some 20 million. */
#define RANGES_MAX 100000000
/* libdw may grow by so much: the lines of some 50 units of C++. */
#define GROWTH_MAX_BYTES (UINT64_C(32) << 20)

struct inlined {
	Dwarf_Die die;
	size_t parent; /* index in the same body, or NO_PARENT */
	bool hit;      /* scratch of one search */
};
#define NO_PARENT SIZE_MAX

/* What was inlined into one function. */
struct body {
	struct inlined *inlined;
	size_t inlined_count, inlined_capacity;
	struct ranges ranges; /* owners in ascending order */
};

struct unit {
	size_t number;	 /* in units, or NO_UNIT */
	Dwarf_Die lines; /* the unit whose line table holds the addresses */
	Dwarf_Die tree;	 /* the unit with the functions: the split one, or = */
	bool searched_deep;
	uint64_t base; /* that ranges are relative to, if libdw cannot know */
	Dwarf_Die *functions;
	size_t function_count, function_capacity;
	struct ranges ranges; /* of functions; sorted */
};

#define NO_UNIT SIZE_MAX

struct inlines {
	struct dwarf_file main;
	struct dwarf_file supplement;
	struct elf_file *supplement_file;
	Dwarf_Off *units; /* of their dies */
	size_t unit_count, unit_capacity;
	struct ranges ranges; /* of units; sorted */
	size_t range_budget;
	bool damaged;
	struct source_paths *paths;
	struct package *package; /* NULL: no .dwp */
	struct unit unit;
	size_t renewed_bytes; /* of memory in use when libdw was begun */
	/* The last function looked into: addresses come in order. */
	struct body body;
	const void *body_of; /* its die's address */
};

static void
list_units(struct inlines *inlines)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;
	int end;
	while (!(end = dwarf_get_units(inlines->main.dwarf, cu, &cu, NULL,
				       &type, &die, NULL))) {
		if (dwarf_tag(&die) == DW_TAG_invalid)
			inlines->damaged = true;
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		memory_grow(inlines->units, inlines->unit_count,
			    inlines->unit_capacity);
		inlines->units[inlines->unit_count] = dwarf_dieoffset(&die);
		ranges_add(&inlines->ranges, &die, inlines->unit_count, 0,
			   &inlines->range_budget);
		inlines->unit_count++;
	}
	inlines->damaged = inlines->damaged || end < 0;
	ranges_sort(&inlines->ranges);
}

static void
open_supplement(struct inlines *inlines, struct elf_file *file,
		const struct locate_options *options)
{
	const char *name;
	const void *bytes;
	ssize_t count = dwelf_dwarf_gnu_debugaltlink(inlines->main.dwarf, &name,
						     &bytes);
	struct build_id id = { .count = 0 };
	if (count <= 0 || count > BUILD_ID_MAX_BYTES)
		return;
	memcpy(id.bytes, bytes, (size_t)count);
	id.count = (size_t)count;
	struct elf_file *supplement =
		locate_supplement(options, file->path, name, &id);
	if (!supplement)
		return;
	inlines->supplement_file = supplement;
	if (dwarf_file_open(supplement, &inlines->supplement))
		dwarf_setalt(inlines->main.dwarf, inlines->supplement.dwarf);
}

struct inlines *
inlines_open(struct elf_file *file, const struct locate_options *options)
{
	struct dwarf_file dwarf;
	if (!dwarf_file_open(file, &dwarf))
		return NULL;
	struct inlines *inlines = memory_get(sizeof(*inlines));
	inlines->main = dwarf;
	inlines->unit.number = NO_UNIT;
	inlines->renewed_bytes = memory_in_use();
	inlines->range_budget = RANGES_MAX;
	inlines->paths = source_paths_new();
	inlines->package = package_open(file);
	open_supplement(inlines, file, options);
	list_units(inlines);
	return inlines;
}

void
inlines_close(struct inlines *inlines)
{
	if (!inlines)
		return;
	free(inlines->unit.functions);
	free(inlines->unit.ranges.items);
	free(inlines->body.inlined);
	free(inlines->body.ranges.items);
	free(inlines->units);
	free(inlines->ranges.items);
	source_paths_free(inlines->paths);
	package_close(inlines->package);
	dwarf_file_close(&inlines->main);
	dwarf_file_close(&inlines->supplement);
	elf_file_close(inlines->supplement_file);
	free(inlines);
}

bool
inlines_damaged(const struct inlines *inlines)
{
	return inlines->damaged;
}

static void
add_function(struct inlines *inlines, struct unit *unit, Dwarf_Die *die)
{
	size_t before = unit->ranges.count;
	ranges_add(&unit->ranges, die, unit->function_count, unit->base,
		   &inlines->range_budget);
	if (unit->ranges.count == before)
		return;
	memory_grow(unit->functions, unit->function_count,
		    unit->function_capacity);
	unit->functions[unit->function_count++] = *die;
}

static bool
may_hold_functions(int tag, bool deep)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
		return true;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return deep;
	default:
		return false;
	}
}

/* With deep, only what the first, shallow search has left out is added. */
static void
list_functions(struct inlines *inlines, struct unit *unit, Dwarf_Die *parent,
	       bool deep, bool seen, int depth)
{
	Dwarf_Die die;
	if (depth > DEPTH_MAX ||
	    !die_first_child(parent, &die, &inlines->damaged))
		return;
	do {
		int tag = dwarf_tag(&die);
		bool space = tag == DW_TAG_namespace || tag == DW_TAG_module;
		if (tag == DW_TAG_subprogram && !seen)
			add_function(inlines, unit, &die);
		if (may_hold_functions(tag, deep))
			list_functions(inlines, unit, &die, deep, seen && space,
				       depth + 1);
	} while (die_next_sibling(&die, &inlines->damaged));
}

static void
search_functions(struct inlines *inlines, struct unit *unit, bool deep)
{
	list_functions(inlines, unit, &unit->tree, deep, deep, 0);
	ranges_sort(&unit->ranges);
}

/* The die with the unit's functions: the unit's own, or that split off. */
static void
find_tree(struct inlines *inlines, struct unit *unit)
{
	Dwarf_Die split = { .addr = NULL };
	uint64_t id = 0;
	uint8_t type = 0;
	unit->tree = unit->lines;
	if (!dwarf_cu_info(unit->lines.cu, NULL, &type, NULL, &split, &id, NULL,
			   NULL) &&
	    split.addr && dwarf_tag(&split) != DW_TAG_invalid)
		unit->tree = split;
	else if (type == DW_UT_skeleton && inlines->package &&
		 !package_find(inlines->package, &unit->lines, id, &unit->tree,
			       &unit->base))
		unit->tree = unit->lines;
}

static void
renew(struct inlines *inlines)
{
	if (memory_in_use() <= inlines->renewed_bytes + GROWTH_MAX_BYTES)
		return;
	if (dwarf_file_renew(&inlines->main) && inlines->supplement.elf &&
	    dwarf_file_renew(&inlines->supplement))
		dwarf_setalt(inlines->main.dwarf, inlines->supplement.dwarf);
	inlines->renewed_bytes = memory_in_use();
}

static struct unit *
open_unit(struct inlines *inlines, size_t number)
{
	struct unit *unit = &inlines->unit;
	if (unit->number == number)
		return unit;
	renew(inlines);
	inlines->body_of = NULL;
	unit->number = NO_UNIT;
	unit->searched_deep = false;
	unit->base = 0;
	unit->function_count = unit->ranges.count = 0;
	if (!dwarf_offdie(inlines->main.dwarf, inlines->units[number],
			  &unit->lines))
		return NULL;
	unit->number = number;
	die_read_lines(&unit->lines, &inlines->damaged);
	find_tree(inlines, unit);
	search_functions(inlines, unit, false);
	return unit;
}

static Dwarf_Die *
find_function(struct inlines *inlines, struct unit *unit, uint64_t address)
{
	const struct range *range = ranges_find(&unit->ranges, address);
	if (!range && !unit->searched_deep) {
		unit->searched_deep = true;
		search_functions(inlines, unit, true);
		range = ranges_find(&unit->ranges, address);
	}
	return range ? &unit->functions[range->owner] : NULL;
}

static bool
is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
	       tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

static void
list_inlined(struct inlines *inlines, struct body *body, Dwarf_Die *parent,
	     size_t parent_index, uint64_t base, int depth)
{
	Dwarf_Die die;
	if (depth > DEPTH_MAX ||
	    !die_first_child(parent, &die, &inlines->damaged))
		return;
	do {
		int tag = dwarf_tag(&die);
		size_t index = parent_index;
		if (tag == DW_TAG_inlined_subroutine) {
			index = body->inlined_count;
			memory_grow(body->inlined, body->inlined_count,
				    body->inlined_capacity);
			body->inlined[body->inlined_count++] =
				(struct inlined){ .die = die,
						  .parent = parent_index };
			ranges_add(&body->ranges, &die, index, base,
				   &inlines->range_budget);
		} else if (!is_block(tag)) {
			continue;
		}
		list_inlined(inlines, body, &die, index, base, depth + 1);
	} while (die_next_sibling(&die, &inlines->damaged));
}

static struct body *
body_of(struct inlines *inlines, Dwarf_Die *function, uint64_t base)
{
	struct body *body = &inlines->body;
	if (inlines->body_of == function->addr)
		return body;
	body->inlined_count = 0;
	body->ranges.count = 0;
	inlines->body_of = function->addr;
	list_inlined(inlines, body, function, NO_PARENT, base, 0);
	return body;
}

/* The innermost inlined die that holds the address, or NO_PARENT. */
static size_t
find_inlined(struct body *body, uint64_t address)
{
	size_t found = NO_PARENT;
	for (size_t i = 0; i < body->inlined_count; i++)
		body->inlined[i].hit = false;
	/* In pre-order: a parent is decided before its children, and the last
	 * one that is hit is the innermost. */
	for (size_t i = 0; i < body->ranges.count; i++) {
		const struct range *range = &body->ranges.items[i];
		struct inlined *inlined = &body->inlined[range->owner];
		if (address < range->low || address >= range->high)
			continue;
		if (inlined->parent != NO_PARENT &&
		    !body->inlined[inlined->parent].hit)
			continue;
		inlined->hit = true;
		found = range->owner;
	}
	return found;
}

/*
 * The file of that number in the unit's line table. clang's split units have
 * none in DWARF 4: their numbers are those of the skeleton's table.
 */
static const char *
file_at(struct inlines *inlines, Dwarf_Die *unit, Dwarf_Die *skeleton,
	Dwarf_Word number)
{
	Dwarf_Files *files;
	size_t count;
	if (dwarf_getsrcfiles(unit, &files, &count) &&
	    dwarf_getsrcfiles(skeleton, &files, &count))
		return NULL;
	const char *directory = die_directory(skeleton);
	return source_path(inlines->paths, directory,
			   number < count
				   ? dwarf_filesrc(files, number, NULL, NULL)
				   : NULL);
}

/*
 * Not dwarf_decl_file(), which aborts the process on a split unit (elfutils
 * 0.188). The number is one of the unit that the attribute is found in, which
 * need not be the die's.
 */
static const char *
decl_file(struct inlines *inlines, struct unit *of, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Die unit;
	if (dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_file,
						 &attribute),
			    &number) ||
	    !attribute.cu ||
	    !dwarf_cu_die(attribute.cu, &unit, NULL, NULL, NULL, NULL, NULL,
			  NULL))
		return NULL;
	return file_at(inlines, &unit,
		       attribute.cu == of->tree.cu ? &of->lines : &unit,
		       number);
}

static void
describe(struct inlines *inlines, struct unit *unit, Dwarf_Die *die,
	 struct inline_frame *frame)
{
	frame->name = die_name(die);
	frame->function_file = decl_file(inlines, unit, die);
	if (dwarf_decl_line(die, &frame->function_line))
		frame->function_line = 0;
}

/* Where an inlined die was called: the line of the frame that follows. */
static void
call_site(struct inlines *inlines, struct unit *unit, Dwarf_Die *die,
	  const char **file, int *line)
{
	int number = die_number(die, DW_AT_call_file);
	*line = die_number(die, DW_AT_call_line);
	*file = file_at(inlines, &unit->tree, &unit->lines, (Dwarf_Word)number);
}

static void
find_line(struct inlines *inlines, struct unit *unit, uint64_t address,
	  const char **file, int *line)
{
	Dwarf_Line *row = dwarf_getsrc_die(&unit->lines, address);
	*file = row ? source_path(inlines->paths, die_directory(&unit->lines),
				  dwarf_linesrc(row, NULL, NULL))
		    : NULL;
	if (!row || dwarf_lineno(row, line))
		*line = 0;
}

/* The functions inlined at the address; file and line become the caller's. */
static size_t
list_chain(struct inlines *inlines, struct unit *unit, struct body *body,
	   uint64_t address, const char **file, int *line,
	   struct inline_frame *frames)
{
	size_t count = 0;
	size_t index = find_inlined(body, address);
	while (index != NO_PARENT && count < INLINES_MAX - 1) {
		struct inlined *inlined = &body->inlined[index];
		frames[count] =
			(struct inline_frame){ .file = *file, .line = *line };
		describe(inlines, unit, &inlined->die, &frames[count++]);
		call_site(inlines, unit, &inlined->die, file, line);
		index = inlined->parent;
	}
	return count;
}

size_t
inlines_unit(const struct inlines *inlines, uint64_t address)
{
	const struct range *range = ranges_find(&inlines->ranges, address);
	return range ? range->owner : inlines->unit_count;
}

size_t
inlines_find(struct inlines *inlines, uint64_t address, bool only_outermost,
	     struct inline_frame frames[INLINES_MAX])
{
	size_t number = inlines_unit(inlines, address);
	struct unit *unit = number < inlines->unit_count
				    ? open_unit(inlines, number)
				    : NULL;
	if (!unit)
		return 0;
	Dwarf_Die *function = find_function(inlines, unit, address);
	const char *file;
	int line;
	size_t count = 0;
	find_line(inlines, unit, address, &file, &line);
	if (function)
		count = list_chain(inlines, unit,
				   body_of(inlines, function, unit->base),
				   address, &file, &line, frames);
	if (only_outermost)
		count = 0;
	frames[count] = (struct inline_frame){ .file = file, .line = line };
	if (function)
		describe(inlines, unit, function, &frames[count]);
	return function || file ? count + 1 : 0;
}
