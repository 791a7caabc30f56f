/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_bench.c - nanoseconds of a frame, with its row cached and not.
 *
 * Walks the same stack of distinct functions to two depths; the difference of
 * the medians, over the difference in depth, leaves out what each walk costs
 * once. For a cold frame the rows are forgotten before each walk, while the
 * modules stay known: the price of a pc seen for the first time.
 *
 * `unwind_bench cached COUNT` makes COUNT walks and prints nothing: run it
 * under callgrind with two counts for the number of instructions.
 *
 * LINK: unwind row_cache cfi cfi_program cfi_expression
 * LINK: modules loader elf_image executable span region counters sys
 * CFLAGS: -fomit-frame-pointer -Wl,-z,now
 */
#include "unwind.h"

#include <stdio.h>
#include <string.h>

#include "arch/x86_64.h"
#include "measure.h"
#include "modules.h"
#include "region.h"
#include "row_cache.h"

#define SHALLOW 16
#define DEEP 80
#define ROUNDS 301
#define WALKS_A_ROUND 64

static struct unwind_scratch scratch;
static struct span own;
static uint64_t frames[DEEP];
static int cached_walks;

static void
walk(uintptr_t ip, uintptr_t sp, uintptr_t fp, unsigned max)
{
	struct unwind_request request = {
		.registers = { .ip = ip,
			       .sp = sp,
			       .fp = fp,
			       .exact = true,
			       .fp_known = true },
		.method = UNWIND_CFI,
		.thread_pointer = arch_thread_pointer(),
		.own = &own,
		.scratch = &scratch,
		.frames = frames,
		.max = max,
	};
	unsigned count;

	(void)unwind_stack(&request, &count);
	if (count != max)
		fprintf(stderr, "unwind_bench: %u frames of %u\n", count, max);
}

static double
time_walks(uintptr_t ip, uintptr_t sp, uintptr_t fp, unsigned max, bool cold)
{
	const size_t rows_bytes = sizeof(*row_cache) << ROW_CACHE_BITS;
	int64_t start, sum = 0;

	for (int i = 0; i < WALKS_A_ROUND; i++) {
		if (cold)
			memset(row_cache, 0, rows_bytes);
		start = now_ns();
		walk(ip, sp, fp, max);
		sum += now_ns() - start;
	}
	return (double)sum / WALKS_A_ROUND;
}

/* Nanoseconds of a frame: median of the paired differences of the rounds. */
static double
frame_ns(uintptr_t ip, uintptr_t sp, uintptr_t fp, bool cold)
{
	static double differences[ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		differences[i] = time_walks(ip, sp, fp, DEEP, cold) -
				 time_walks(ip, sp, fp, SHALLOW, cold);
	return median(differences, ROUNDS) / (DEEP - SHALLOW);
}

static __attribute__((noinline)) void
at_the_bottom(void)
{
	uintptr_t ip, sp, fp;

	__asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
			 : "=r"(ip), "=r"(sp), "=r"(fp));
	if (cached_walks > 0) {
		for (int i = 0; i < cached_walks; i++)
			walk(ip, sp, fp, DEEP);
		return;
	}
	walk(ip, sp, fp, DEEP);
	printf("cached_frame_ns %.1f\n", frame_ns(ip, sp, fp, false));
	printf("cold_frame_ns %.0f\n", frame_ns(ip, sp, fp, true));
}

/* 64 + 16 + 4 functions, each with its own frame size and pcs. */
#define LEVEL(name, callee) \
	static __attribute__((noinline)) int name(volatile int *x) \
	{ \
		volatile char room[16 + __COUNTER__ * 8]; \
		int sum = *x; \
\
		room[0] = (char)sum; \
		callee; \
		return room[0] + sum + *x; \
	}
#define LEVELS(name, callee) \
	LEVEL(name##_d, callee) \
	LEVEL(name##_c, name##_d(x)) \
	LEVEL(name##_b, name##_c(x)) \
	LEVEL(name, name##_b(x))
#define MORE_LEVELS(name, callee) \
	LEVELS(name##_4, callee) \
	LEVELS(name##_3, name##_4(x)) \
	LEVELS(name##_2, name##_3(x)) \
	LEVELS(name, name##_2(x))

LEVELS(last, at_the_bottom())
MORE_LEVELS(level_5, last(x))
MORE_LEVELS(level_4, level_5(x))
MORE_LEVELS(level_3, level_4(x))
MORE_LEVELS(level_2, level_3(x))
MORE_LEVELS(level_1, level_2(x))

int
main(int argc, char **argv)
{
	volatile int x = 0;

	if (argc == 3 && strcmp(argv[1], "cached") == 0)
		cached_walks = atoi(argv[2]);
	if (region_init((size_t)16 << 20, 1) != 0 || modules_init() != 0 ||
	    unwind_init() != 0)
		return 1;
	span_init();
	return level_1(&x) == 12345;
}
