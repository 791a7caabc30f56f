/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_map.c - names of just-in-time compiled code: /tmp/perf-PID.map.
 *
 * The whole text is in memory, and names are pieces of it: the most that a
 * file of the greatest size can take is some seven times as much.
 */
#include "perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "profile_file.h"

/* A large Java server's has some 20 MB. */
#define MAP_MAX_BYTES (UINT64_C(256) << 20)
#define TOO_LARGE "it has more than 256 MiB"

struct piece {
	uint64_t start;
	uint64_t end;
	const char
		*name; /* in the text; of equal starts the last line counts */
};

struct perf_map {
	char *text;
	struct piece *pieces; /* sorted by start; of equals the newest last */
	size_t count;
	size_t capacity;
};

/* A file, or what keeps it from being trusted. */
static int
open_trusted(const char *path, uid_t owner, size_t *bytes,
	     struct reason *reason)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat status;
	if (fd < 0 && errno == ELOOP)
		return reason_set(reason, -1, "it is a link");
	if (fd < 0 && errno != ENOENT)
		return reason_set(reason, -1, "%s", strerror(errno));
	if (fd < 0)
		return -1;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode))
		reason_set(reason, -1, "it is no regular file");
	else if (status.st_uid && status.st_uid != geteuid() &&
		 status.st_uid != owner)
		reason_set(reason, -1,
			   "it belongs to user %u, not to root, you or the "
			   "profile's owner (--perf-map takes it)",
			   status.st_uid);
	else if ((uint64_t)status.st_size > MAP_MAX_BYTES)
		reason_set(reason, -1, TOO_LARGE);
	else {
		*bytes = (size_t)status.st_size;
		return fd;
	}
	close(fd);
	return -1;
}

/* What there was when it was opened: it may grow all the while. */
static size_t
read_text(int fd, char *text, size_t bytes)
{
	size_t used = 0;
	while (used < bytes) {
		ssize_t got = read(fd, text + used, bytes - used);
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	return used;
}

static void
add_line(struct perf_map *map, const char *line)
{
	char *rest;
	uint64_t start = strtoull(line, &rest, 16);
	if (rest == line || *rest != ' ')
		return;
	char *sizes = rest;
	uint64_t bytes = strtoull(sizes, &rest, 16);
	if (rest == sizes || *rest != ' ' || start + bytes <= start)
		return;
	memory_grow(map->pieces, map->count, map->capacity);
	map->pieces[map->count++] = (struct piece){
		.start = start,
		.end = start + bytes,
		.name = rest + 1,
	};
}

static int
compare(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Takes the text, which ends in a NUL. */
static struct perf_map *
parse(char *text, size_t bytes)
{
	struct perf_map *map = memory_get(sizeof(*map));
	map->text = text;
	for (char *line = text; line < text + bytes; line += strlen(line) + 1) {
		line[strcspn(line, "\n")] = '\0';
		add_line(map, line);
	}
	if (map->count)
		qsort(map->pieces, map->count, sizeof(*map->pieces), compare);
	return map;
}

struct perf_map *
perf_map_open_usual(const char *path, uid_t owner, struct reason *reason)
{
	size_t bytes = 0;
	reason->text[0] = '\0';
	int fd = open_trusted(path, owner, &bytes, reason);
	if (fd < 0)
		return NULL;
	char *text = memory_get(bytes + 1);
	bytes = read_text(fd, text, bytes);
	close(fd);
	return parse(text, bytes);
}

struct perf_map *
perf_map_open(const char *path, struct reason *reason)
{
	uint8_t *data;
	size_t bytes;
	if (profile_file_read(path, &data, &bytes, reason))
		return NULL;
	if (bytes > MAP_MAX_BYTES) {
		free(data);
		reason_set(reason, -1, TOO_LARGE);
		return NULL;
	}
	char *text = memory_resize(data, bytes + 1, 1);
	text[bytes] = '\0';
	struct perf_map *map = parse(text, bytes);
	if (map->count)
		return map;
	perf_map_close(map);
	reason_set(reason, -1, "it has no line of the form START SIZE NAME");
	return NULL;
}

void
perf_map_close(struct perf_map *map)
{
	if (!map)
		return;
	free(map->pieces);
	free(map->text);
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
