/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof_encode.c - writes a heap profile of made-up stacks, without a program
 * that is profiled: for other readers of profiles, and to measure encoding.
 *
 *	pprof_encode FILE STACKS DEPTH
 *
 * The stacks are paths in a random call tree, as those of a real program are:
 * each shares a prefix of its callers with the one before. Some end truncated,
 * some have frames of no module, and two libraries stand at one address.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler.h"
#include "fake_modules.h"
#include "fake_stacks.h"
#include "file.h"
#include "frame.h"
#include "gzip.h"
#include "heap_profile.h"

#define RATE_BYTES (UINT64_C(512) << 10)
#define CALL_SITES 6000
#define DEPTH_MAX PPROF_FRAMES_MAX

static uint64_t call_sites[CALL_SITES];

static void
make_call_sites(void)
{
	/* Most are in the first modules, as in a real program. */
	const unsigned modules[] = { 1, 1, 1, 1, 2, 2, 3, 4, 5, 6 };

	fake_module("/usr/bin/program", 0x555555554000);
	fake_module("/usr/lib/x86_64-linux-gnu/libc.so.6", 0x7ffff7a00000);
	fake_module("/usr/lib/libfirst.so.1", 0x7ffff6000000);
	fake_module("/usr/lib/libsecond.so.1", 0x7ffff5000000);
	/* One was closed before the other was opened. */
	fake_module("/usr/lib/plugins/old.so", 0x7ffff4000000);
	fake_module("/usr/lib/plugins/new.so", 0x7ffff4000000);
	for (unsigned i = 0; i < CALL_SITES; i++)
		call_sites[i] = frame_make(
			modules[(unsigned)random() % ARRAY_SIZE(modules)],
			0x1000 + (unsigned)random() % 0x10000);
}

static uint64_t
random_frame(void)
{
	unsigned a = (unsigned)random() % CALL_SITES;
	unsigned b = (unsigned)random() % CALL_SITES;

	/* The lesser of two: some are far more frequent than others. */
	if ((unsigned)random() % 500 == 0)
		return frame_make(FRAME_MODULE_NONE,
				  0x7fffe0000000 + (uint64_t)random() % 65536);
	return call_sites[MIN(a, b)];
}

/* Changes the inner part of a stack, which is outermost last. */
static unsigned
next_stack(uint64_t *frames, unsigned count, unsigned depth)
{
	unsigned kept = count == 0 ? 0 : (unsigned)random() % count;
	unsigned length = depth / 2 + (unsigned)random() % depth;
	uint64_t next[DEPTH_MAX];

	length = MAX(MIN(length, (unsigned)DEPTH_MAX), kept + 1);
	for (unsigned i = 0; i < length; i++)
		next[i] = i < length - kept
				  ? random_frame()
				  : frames[count - kept + i - (length - kept)];
	/* Inner frames are never of a truncated kind. */
	if (kept == 0 && (unsigned)random() % 8 == 0)
		next[length - 1] = FRAME_TRUNCATED;
	memcpy(frames, next, length * sizeof(*frames));
	return length;
}

static void
make_buckets(unsigned stacks, unsigned depth)
{
	uint64_t frames[DEPTH_MAX];
	unsigned count = 0;

	for (unsigned i = 0; i < stacks; i++) {
		uint64_t size = UINT64_C(16) << random() % 12;
		struct bucket *bucket;

		count = next_stack(frames, count, depth);
		bucket = fake_bucket(frames, count, (unsigned)size);
		for (long n = 1 + random() % 20; n > 0; n--) {
			fake_count(&bucket->allocated, size, RATE_BYTES);
			if (random() % 2 == 0)
				fake_count(&bucket->freed, size, RATE_BYTES);
		}
	}
}

/* What the dump does for one profile. */
static int
write_profile(const char *path)
{
	static struct file file;
	struct arena arena;
	struct heap_rows rows;
	struct gzip *gzip;
	struct pprof *pprof;
	int r = arena_open(&arena, (size_t)1 << 30);

	if (r == 0)
		r = heap_rows_capture(&rows, &arena);
	if (r == 0)
		r = file_create(&file, path);
	if (r != 0)
		return r;
	gzip = gzip_open(&arena, file.fd);
	pprof = pprof_open(&arena, gzip, rows.frame_count);
	heap_profile_write(pprof, &rows, "inuse_space", RATE_BYTES);
	pprof_time(pprof, UINT64_C(1700000000000000000), 1000000000);
	pprof_comment(pprof, "made by pprof_encode");
	r = pprof_close(pprof);
	if (r == 0)
		r = gzip_close(gzip);
	printf("%u samples, %zu frames, %zu bytes of the arena\n", rows.count,
	       rows.frame_count, arena.used_bytes);
	if (r == 0)
		return file_publish(&file);
	file_discard(&file);
	return r;
}

int
main(int argc, char **argv)
{
	char path[FILE_PATH_MAX];
	unsigned stacks, depth;
	int r;

	if (argc != 4) {
		fprintf(stderr, "usage: %s FILE STACKS DEPTH\n", argv[0]);
		return 2;
	}
	snprintf(path, sizeof(path), "%s", argv[1]);
	stacks = (unsigned)strtoul(argv[2], NULL, 10);
	depth = (unsigned)strtoul(argv[3], NULL, 10);
	if (stacks > 1 << 16 || depth == 0 || depth > DEPTH_MAX) {
		fprintf(stderr, "at most 65536 stacks of depth 1 to 512\n");
		return 2;
	}
	srandom(1);
	make_call_sites();
	make_buckets(stacks, depth);
	r = write_profile(path);
	if (r != 0)
		fprintf(stderr, "%s: %s\n", path, strerror(-r));
	return r != 0;
}
