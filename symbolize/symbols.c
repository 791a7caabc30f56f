/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.c - the symbol tables of ELF files, by address.
 *
 * Sorted by address; each symbol also knows the furthest end of all before
 * and including itself, so that a search backwards through nested symbols
 * stops where none can reach the address any more.
 */
#include "symbols.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

struct symbol {
	uint64_t start;
	uint64_t end;	/* exclusive */
	uint64_t reach; /* greatest end up to here */
	const char *name;
	uint64_t limit; /* end of its section: no symbol reaches further */
	size_t order;	/* of arrival */
	int rank;	/* of its binding, the higher the better */
};

struct symbols {
	struct symbol *items;
	size_t count;
	size_t capacity;
	bool sorted;
};

struct symbols *
symbols_new(void)
{
	return memory_get(sizeof(struct symbols));
}

void
symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->items);
	free(symbols);
}

static bool
is_code(const GElf_Sym *symbol)
{
	int type = GELF_ST_TYPE(symbol->st_info);
	return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC ||
		type == STT_NOTYPE);
}

static int
rank_of(const GElf_Sym *symbol)
{
	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_GLOBAL:
		return 3;
	case STB_WEAK:
		return 2;
	case STB_LOCAL:
		return 1;
	default:
		return 0;
	}
}

static uint64_t
section_end(Elf *elf, const GElf_Sym *symbol)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
	return section && gelf_getshdr(section, &header)
		       ? header.sh_addr + header.sh_size
		       : UINT64_MAX;
}

static void
add_table(struct symbols *symbols, Elf *elf, Elf_Scn *section,
	  const GElf_Shdr *header, uint64_t bias)
{
	Elf_Data *data = elf_getdata(section, NULL);
	if (!data || !header->sh_entsize)
		return;
	size_t count = data->d_size / header->sh_entsize;
	for (size_t i = 0; i < count; i++) {
		GElf_Sym symbol;
		if (!gelf_getsym(data, (int)i, &symbol) || !is_code(&symbol))
			continue;
		const char *name =
			elf_strptr(elf, header->sh_link, symbol.st_name);
		/* Mapping symbols and the assembler's own labels name nothing.
		 */
		if (!name || !*name || *name == '$' || *name == '.')
			continue;
		memory_grow(symbols->items, symbols->count, symbols->capacity);
		symbols->items[symbols->count] = (struct symbol){
			.start = symbol.st_value + bias,
			.end = symbol.st_value + bias + symbol.st_size,
			.limit = section_end(elf, &symbol) + bias,
			.name = name,
			.order = symbols->count,
			.rank = rank_of(&symbol),
		};
		symbols->count++;
	}
}

void
symbols_add(struct symbols *symbols, struct elf_file *file, uint64_t bias)
{
	Elf_Scn *section = NULL;
	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB ||
		     header.sh_type == SHT_DYNSYM))
			add_table(symbols, file->elf, section, &header, bias);
	}
	symbols->sorted = false;
}

/* By address; of equal ones the last is the best (the search starts there). */
static int
compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if ((x->end > x->start) != (y->end > y->start))
		return x->end > x->start ? 1 : -1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	/* Of aliases the first, as with elfutils. */
	return x->order > y->order ? -1 : 1;
}

static void
sort(struct symbols *symbols)
{
	struct symbol *items = symbols->items;
	if (symbols->count)
		qsort(items, symbols->count, sizeof(*items), compare);
	uint64_t reach = 0;
	for (size_t i = 0; i < symbols->count; i++) {
		/* Without a size: up to the next that begins later. */
		if (items[i].end <= items[i].start) {
			size_t next = i + 1;
			while (next < symbols->count &&
			       items[next].start == items[i].start)
				next++;
			items[i].end =
				next < symbols->count && items[next].start <
								 items[i].limit
					? items[next].start
					: items[i].limit;
		}
		if (items[i].end > reach)
			reach = items[i].end;
		items[i].reach = reach;
	}
	symbols->sorted = true;
}

static const struct symbol *
find(struct symbols *symbols, uint64_t address)
{
	if (!symbols->sorted)
		sort(symbols);
	size_t low = 0, high = symbols->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (symbols->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	while (low && symbols->items[low - 1].reach > address) {
		const struct symbol *symbol = &symbols->items[--low];
		if (symbol->end > address)
			return symbol;
	}
	return NULL;
}

const char *
symbols_find(struct symbols *symbols, uint64_t address)
{
	const struct symbol *symbol = find(symbols, address);
	return symbol ? symbol->name : NULL;
}

bool
symbols_start(struct symbols *symbols, uint64_t address, uint64_t *start)
{
	const struct symbol *symbol = find(symbols, address);
	if (symbol)
		*start = symbol->start;
	return symbol;
}
