/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_path.c - where a source file was when it was compiled.
 *
 * DWARF names files below the compilation's directory, which it names once a
 * unit. Both are joined as they are, as addr2line of binutils, elfutils and
 * LLVM do: "." and ".." stay, links may be behind them. Each path is kept
 * once, under itself as key.
 */
#include "source_path.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "table.h"

struct source_paths {
	struct table *numbers; /* path → index in texts */
	char **texts;
	size_t count, capacity;
	char *joined; /* scratch */
	size_t joined_bytes;
};

struct source_paths *
source_paths_new(void)
{
	struct source_paths *paths = memory_get(sizeof(*paths));
	paths->numbers = table_new();
	return paths;
}

void
source_paths_free(struct source_paths *paths)
{
	if (!paths)
		return;
	for (size_t i = 0; i < paths->count; i++)
		free(paths->texts[i]);
	free(paths->texts);
	free(paths->joined);
	table_free(paths->numbers);
	free(paths);
}

/* The joined path's length; the path is in paths->joined. */
static size_t
join(struct source_paths *paths, const char *directory, const char *name)
{
	size_t name_bytes = strlen(name), bytes = 0;
	if (directory && *name != '/')
		bytes = strlen(directory);
	if (paths->joined_bytes < bytes + name_bytes + 2) {
		paths->joined_bytes = 2 * (bytes + name_bytes + 2);
		paths->joined =
			memory_resize(paths->joined, paths->joined_bytes, 1);
	}
	if (bytes) {
		memcpy(paths->joined, directory, bytes);
		paths->joined[bytes++] = '/';
	}
	memcpy(paths->joined + bytes, name, name_bytes + 1);
	return bytes + name_bytes;
}

const char *
source_path(struct source_paths *paths, const char *directory, const char *name)
{
	uint64_t number = paths->count;
	if (!name)
		return NULL;
	size_t bytes = join(paths, directory, name);
	if (!table_add(paths->numbers, paths->joined, bytes, &number))
		return paths->texts[number];
	memory_grow(paths->texts, paths->count, paths->capacity);
	paths->texts[number] = memory_string(paths->joined);
	paths->count++;
	return paths->texts[number];
}
