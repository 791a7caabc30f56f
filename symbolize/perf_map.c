/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_map.c - names of just-in-time compiled code: /tmp/perf-PID.map.
 */
#include "perf_map.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

struct piece {
	uint64_t start;
	uint64_t end;
	size_t number; /* of its line */
	char *name;
};

struct perf_map {
	struct piece *pieces; /* sorted by start; of equals the newest last */
	size_t count;
	size_t capacity;
};

static FILE *
open_trusted(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat status;
	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode) ||
	    (status.st_uid && status.st_uid != geteuid())) {
		close(fd);
		return NULL;
	}
	FILE *file = fdopen(fd, "r");
	if (!file)
		close(fd);
	return file;
}

static void
add_line(struct perf_map *map, char *line)
{
	char *rest;
	uint64_t start = strtoull(line, &rest, 16);
	if (rest == line || *rest != ' ')
		return;
	char *sizes = rest;
	uint64_t bytes = strtoull(sizes, &rest, 16);
	if (rest == sizes || *rest != ' ' || start + bytes < start)
		return;
	rest++;
	rest[strcspn(rest, "\n")] = '\0';
	memory_grow(map->pieces, map->count, map->capacity);
	map->pieces[map->count] = (struct piece){
		.start = start,
		.end = start + bytes,
		.number = map->count,
		.name = memory_string(rest),
	};
	map->count++;
}

static int
compare(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

struct perf_map *
perf_map_open(const char *path)
{
	FILE *file = open_trusted(path);
	if (!file)
		return NULL;
	struct perf_map *map = memory_get(sizeof(*map));
	char *line = NULL;
	size_t bytes = 0;
	while (getline(&line, &bytes, file) > 0)
		add_line(map, line);
	free(line);
	fclose(file);
	if (map->count)
		qsort(map->pieces, map->count, sizeof(*map->pieces), compare);
	return map;
}

void
perf_map_close(struct perf_map *map)
{
	if (!map)
		return;
	for (size_t i = 0; i < map->count; i++)
		free(map->pieces[i].name);
	free(map->pieces);
	free(map);
}

const char *
perf_map_find(const struct perf_map *map, uint64_t address)
{
	size_t low = 0, high = map->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (map->pieces[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* Code is not nested: the nearest start decides. */
	if (!low || map->pieces[low - 1].end <= address)
		return NULL;
	return map->pieces[low - 1].name;
}
