/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof_encode.c - writes a heap profile of made-up stacks, without a program
 * that is profiled: for other readers of profiles, and to measure encoding.
 *
 *	pprof_encode FILE STACKS DEPTH
 *
 * The stacks are paths through a random graph of calls, as those of a real
 * program are, in no order, as stacks_each() gives them. Some end truncated,
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

/* One of the few calls that the function at frame makes, the first mostly. */
static uint64_t
next_call(uint64_t frame)
{
	unsigned choice = 0;

	while (choice < 7 && random() % 3 == 0)
		choice++;
	if (random() % 500 == 0)
		return frame_make(FRAME_MODULE_NONE,
				  0x7fffe0000000 + (uint64_t)random() % 65536);
	frame = (frame + choice) * UINT64_C(0x9e3779b97f4a7c15);
	return call_sites[(frame >> 32) % CALL_SITES];
}

/*
 * A stack in the manner of an earlier one: the innermost frames are left out
 * and others put in their place. The outermost stands last.
 */
static unsigned
make_stack(uint64_t *frames, unsigned depth)
{
	unsigned kept = 1, count = MAX(depth, 2U) - (unsigned)random() % 2;
	uint64_t frame = call_sites[0];

	if (fake_bucket_count > 0) {
		const struct stack *earlier =
			fake_buckets[random() % fake_bucket_count].stack;
		unsigned left = 1 + (unsigned)random() % 8;

		if (earlier->frame_count > left)
			kept = MIN(earlier->frame_count - left, DEPTH_MAX - 1U);
		count = kept + 1 + (unsigned)random() % 8;
		count = MIN(count, (unsigned)DEPTH_MAX);
		memcpy(&frames[count - kept],
		       &earlier->frames[earlier->frame_count - kept],
		       kept * sizeof(*frames));
		frame = frames[count - kept];
	}
	for (unsigned i = count - kept; i > 0; i--) {
		frame = next_call(frame);
		frames[i - 1] = frame;
	}
	frames[count - 1] = call_sites[0];
	if (random() % 50 == 0)
		frames[count - 1] = FRAME_TRUNCATED;
	return count;
}

static void
make_buckets(unsigned stacks, unsigned depth)
{
	uint64_t frames[DEPTH_MAX];

	for (unsigned i = 0; i < stacks; i++) {
		unsigned count = make_stack(frames, depth);
		uint64_t size = UINT64_C(16) << random() % 12;
		struct bucket *bucket = fake_bucket(frames, count, size);

		for (long n = 1 + random() % 20; n > 0; n--) {
			fake_count(&bucket->allocated, size, RATE_BYTES);
			if (random() % 2 == 0)
				fake_count(&bucket->freed, size, RATE_BYTES);
		}
	}
}

/* What the dump does for one profile. By itself, to be measured. */
static NOINLINE int
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
	pprof_time(pprof, UINT64_C(1700000000000000000));
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
