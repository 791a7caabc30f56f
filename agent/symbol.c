/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol.c - asks dlsym(), or reads the loaded files' hash tables; symbol.h.
 *
 * The search goes through the files in the order in which dl_iterate_phdr()
 * names them, which for those of the program's start is the search order, and
 * while it holds the loader's lock; so no file disappears meanwhile. No data.
 */
#include "symbol.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "compiler.h"

/*
 * GLIBC_2.2.5 is the oldest version on x86-64. libc.so.6 has had these two
 * since 2.34, libdl.so.2 before; where neither is, they are NULL. (A weak
 * reference to a version that is missing would make the loader say so.)
 */
void *old_dlsym(void *handle, const char *name) __attribute__((weak));
void *old_dlopen(const char *file, int mode) __attribute__((weak));
__asm__(".symver old_dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver old_dlopen, dlopen@GLIBC_2.2.5");

/* Our own dynamic section, by which the agent is known among the files. */
extern HIDDEN ElfW(Dyn) _DYNAMIC[];

/* The hash of DT_GNU_HASH tables (Bernstein's, times 33). */
static uint32_t
hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name != '\0'; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* What a loaded file's dynamic section says of its symbols. */
struct symbols {
	uintptr_t bias;
	const ElfW(Sym) * table;
	const char *strings;
	const uint16_t *versions; /* NULL: none */
	/* buckets, first symbol, bloom words, shift; then the three tables */
	const uint32_t *gnu_hash;
	/* NULL, or buckets, symbols, ...: one of the two is there */
	const uint32_t *old_hash;
};

/* Most loaders have made the section's pointers absolute, not all. */
static const void *
pointer(const struct symbols *in, uintptr_t value)
{
	return (const void *)(value < in->bias ? in->bias + value : value);
}

static bool
read_dynamic(struct symbols *in, const ElfW(Dyn) * dynamic)
{
	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		const void *at = pointer(in, dynamic->d_un.d_ptr);

		switch (dynamic->d_tag) {
		case DT_SYMTAB:
			in->table = at;
			break;
		case DT_STRTAB:
			in->strings = at;
			break;
		case DT_VERSYM:
			in->versions = at;
			break;
		case DT_GNU_HASH:
			in->gnu_hash = at;
			break;
		case DT_HASH:
			in->old_hash = at;
			break;
		}
	}
	return in->table != NULL && in->strings != NULL;
}

/* The symbol's address if it is a definition of that function, else NULL. */
static void *
definition(const struct symbols *in, uint32_t number, const char *name)
{
	const ElfW(Sym) *symbol = &in->table[number];
	uintptr_t at = in->bias + symbol->st_value;
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF ||
	    ELF64_ST_BIND(symbol->st_info) == STB_LOCAL ||
	    (type != STT_FUNC && type != STT_GNU_IFUNC) ||
	    strcmp(in->strings + symbol->st_name, name) != 0)
		return NULL;
	/* The highest bit: not the default version of its name. */
	if (in->versions != NULL && (in->versions[number] & 0x8000))
		return NULL;
	return type == STT_FUNC ? (void *)at : ((void *(*)(void))at)();
}

static void *
search_gnu_hash(const struct symbols *in, const char *name)
{
	uint32_t bucket_count = in->gnu_hash[0], first = in->gnu_hash[1];
	const uint32_t *buckets =
		in->gnu_hash + 4 + 2 * (size_t)in->gnu_hash[2];
	const uint32_t *chain = buckets + bucket_count;
	uint32_t hash = hash_of(name), number;
	void *found;

	number = bucket_count != 0 ? buckets[hash % bucket_count] : 0;
	if (number < first)
		return NULL;
	/* A chain's hashes have their lowest bit as the mark of its end. */
	for (;; number++) {
		found = (chain[number - first] | 1) == (hash | 1)
				? definition(in, number, name)
				: NULL;
		if (found != NULL || (chain[number - first] & 1))
			return found;
	}
}

/* Symbol by symbol: files with the old table alone are few and old. */
static void *
search_old_hash(const struct symbols *in, const char *name)
{
	void *found = NULL;

	for (uint32_t i = 1; found == NULL && i < in->old_hash[1]; i++)
		found = definition(in, i, name);
	return found;
}

struct search {
	const char *name;
	bool behind; /* the agent itself has been passed */
	void *found;
};

static int
search_file(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	struct symbols in = { .bias = info->dlpi_addr };
	const ElfW(Dyn) *dynamic = NULL;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(info->dlpi_addr +
						 info->dlpi_phdr[i].p_vaddr);
	if (dynamic == NULL)
		return 0;
	if (!search->behind) {
		search->behind = dynamic == _DYNAMIC;
		return 0;
	}
	if (!read_dynamic(&in, dynamic))
		return 0;
	if (in.gnu_hash != NULL)
		search->found = search_gnu_hash(&in, search->name);
	else if (in.old_hash != NULL)
		search->found = search_old_hash(&in, search->name);
	return search->found != NULL;
}

void *
symbol_search_next(const char *name)
{
	struct search search = { .name = name };

	(void)dl_iterate_phdr(search_file, &search);
	return search.found;
}

void *
symbol_next(const char *name)
{
	return old_dlsym != NULL ? old_dlsym(RTLD_NEXT, name)
				 : symbol_search_next(name);
}

void *
symbol_default(const char *name)
{
	return old_dlsym != NULL ? old_dlsym(RTLD_DEFAULT, name) : NULL;
}

void *
symbol_open(const char *library)
{
	return old_dlopen != NULL ? old_dlopen(library, RTLD_NOW | RTLD_LOCAL)
				  : NULL;
}

void *
symbol_in(void *handle, const char *name)
{
	return old_dlsym != NULL ? old_dlsym(handle, name) : NULL;
}
