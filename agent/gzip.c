/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip.c - deflate into a file; see gzip.h.
 *
 * zlib asks for all its memory in deflateInit2() and gets it from the arena;
 * nothing is given back, the arena goes as a whole.
 */
#include "gzip.h"

#include <errno.h>
#include <stdbool.h>
#include <zlib.h>

#include "compiler.h"
#include "sys.h"

/*
 * Of a profile of 10,000 stacks (test/tools/pprof_encode), 728 KB, level 1
 * makes 248 KB in 5.2 ms, level 4 227 KB in 6.9 ms, level 6 221 KB in 10.7 ms.
 * Memory by zlib's zconf.h: (1 << (window bits + 2)) + (1 << (memory level +
 * 9)) bytes and a few; one memory level more saves 0.5 % of the size.
 */
#define LEVEL 1
#define WINDOW_BITS 15
#define GZIP_HEADER 16 /* added to the window bits: RFC 1952, not 1950 */
#define MEMORY_LEVEL 8
#define OUT_BYTES 65536

_Static_assert((1 << (WINDOW_BITS + 2)) + (1 << (MEMORY_LEVEL + 9)) +
			       OUT_BYTES + 16384 <=
		       GZIP_ARENA_BYTES,
	       "deflate and its output fit in what gzip.h promises");

struct gzip {
	z_stream stream;
	struct arena *arena;
	int fd;
	int error; /* 0, or the first, as a negative errno */
	unsigned char out[OUT_BYTES];
};

static void *
take(void *context, unsigned count, unsigned size_bytes)
{
	struct gzip *gzip = context;

	return arena_alloc(gzip->arena, (size_t)count * size_bytes);
}

static void
leave(void *context UNUSED, void *memory UNUSED)
{
}

struct gzip *
gzip_open(struct arena *arena, int fd)
{
	struct gzip *gzip = arena_alloc(arena, sizeof(*gzip));

	if (gzip == NULL)
		return NULL;
	gzip->arena = arena;
	gzip->fd = fd;
	gzip->stream.zalloc = take;
	gzip->stream.zfree = leave;
	gzip->stream.opaque = gzip;
	if (deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED,
			 WINDOW_BITS + GZIP_HEADER, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	gzip->stream.next_out = gzip->out;
	gzip->stream.avail_out = OUT_BYTES;
	return gzip;
}

static void
write_out(struct gzip *gzip)
{
	size_t size_bytes = OUT_BYTES - gzip->stream.avail_out;

	if (gzip->error == 0)
		gzip->error = sys_write_all(gzip->fd, gzip->out, size_bytes);
	gzip->stream.next_out = gzip->out;
	gzip->stream.avail_out = OUT_BYTES;
}

/* Compresses all of next_in; with Z_FINISH up to the stream's end. */
static void
run(struct gzip *gzip, int flush)
{
	int status = Z_OK;

	while (gzip->error == 0 && status != Z_STREAM_END &&
	       (gzip->stream.avail_in > 0 || flush == Z_FINISH)) {
		status = deflate(&gzip->stream, flush);
		/* Cannot be with the arguments above: a corrupted state. */
		if (status != Z_OK && status != Z_STREAM_END)
			gzip->error = -EIO;
		if (gzip->stream.avail_out == 0)
			write_out(gzip);
	}
}

void
gzip_write(struct gzip *gzip, const void *data, size_t size_bytes)
{
	const unsigned char *p = data;

	while (size_bytes > 0 && gzip->error == 0) {
		/* zlib counts in 32 bits. */
		size_t part = MIN(size_bytes, (size_t)1 << 30);

		gzip->stream.next_in = (z_const Bytef *)(uintptr_t)p;
		gzip->stream.avail_in = (uInt)part;
		run(gzip, Z_NO_FLUSH);
		p += part;
		size_bytes -= part;
	}
}

int
gzip_close(struct gzip *gzip)
{
	gzip->stream.avail_in = 0;
	run(gzip, Z_FINISH);
	if (gzip->error == 0)
		write_out(gzip);
	return gzip->error;
}
