/* SPDX-License-Identifier: Apache-2.0 */
/* pprof_arena_test.c - how much memory a profile takes, and what if less. */
/* LINK: pprof wire gzip arena sys */
/* LIBS: -l:libz.a */
#include "pprof.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "compiler.h"
#include "fake_modules.h"
#include "frame.h"

/* Writes frames that are all distinct, from every module, with many labels. */
static int
write_distinct(size_t arena_bytes, size_t frames_max, size_t frame_count)
{
	struct arena arena;
	struct gzip *gzip;
	struct pprof *pprof;
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	const int64_t value = 1;
	int r = -ENOMEM;

	assert_int_equal(arena_open(&arena, GZIP_ARENA_BYTES), 0);
	gzip = gzip_open(&arena, fd);
	assert_non_null(gzip);
	{
		struct arena own;

		assert_int_equal(arena_open(&own, arena_bytes), 0);
		pprof = pprof_open(&own, gzip, frames_max);
		for (size_t i = 0; pprof != NULL && i < frame_count; i++) {
			const uint64_t frame = frame_make(i % MODULES_MAX, i);
			char text[32];
			struct pprof_label label = { .key = "thread",
						     .text = text };

			snprintf(text, sizeof(text), "thread %zu",
				 i % PPROF_LABEL_TEXTS_MAX);
			pprof_sample(pprof, &frame, 1, &value, 1, &label, 1);
		}
		for (int i = 0; pprof != NULL && i < 8; i++) {
			char text[4000];

			memset(text, 'a' + i, sizeof(text));
			text[sizeof(text) - 1] = '\0';
			pprof_comment(pprof, text);
		}
		if (pprof != NULL)
			r = pprof_close(pprof);
		arena_close(&own);
	}
	arena_close(&arena);
	close(fd);
	return r;
}

static void
test_arena_bound_holds(void **state)
{
	const size_t counts[] = { 0, 1, 100, 5000, 200000 };

	(void)state;
	while (fake_module_count < MODULES_MAX)
		fake_module("/usr/lib/some/where/libsomething.so.1", 1 << 20);
	for (unsigned i = 0; i < ARRAY_SIZE(counts); i++)
		assert_int_equal(write_distinct(pprof_arena_bytes(counts[i]),
						counts[i], counts[i]),
				 0);
}

static void
test_arena_too_small(void **state)
{
	size_t full = pprof_arena_bytes(1000);

	(void)state;
	for (size_t bytes = 64; bytes < full; bytes += full / 61)
		assert_int_equal(write_distinct(bytes, 1000, 100000), -ENOMEM);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arena_bound_holds),
		cmocka_unit_test(test_arena_too_small),
	};

	return CHECK_RUN(tests);
}
