/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames.c - nanoseconds of a frame that the unwinder knows, and of one that
 * it meets for the first time. Prints "CACHED COLD".
 *
 * Cached: walks from under two depths of one recursion, so that what a walk
 * costs besides its frames falls out of the difference. Cold: what the walk
 * does on a miss, at random instructions of libc's code (which has thousands
 * of functions): find the module, find and run its call frame information.
 *
 * LINK: unwind unwind_step unwind_fp unwind_row instruction row_cache cfi
 * LINK: cfi_program cfi_expression modules modules_name loader
 * LINK: loader_snapshot symbol elf_image executable span region
 * LINK: counters sys
 * LIBS: -Wl,-z,now
 */
#include <stdbool.h>
#include <stdio.h>

#include "arch/x86_64.h"
#include "cfi.h"
#include "measure.h"
#include "modules.h"
#include "random.h"
#include "region.h"
#include "unwind.h"

#define DEPTH_LOW 16
#define DEPTH_HIGH 112
#define ROUNDS 51
#define WALKS 2000
#define COLD_PCS 5000

static struct unwind_scratch scratch;
static struct span own;
static uint64_t frames[UNWIND_FRAMES_MAX];

static __attribute__((noinline)) unsigned
walk(void)
{
	const uintptr_t *frame = __builtin_frame_address(0);
	struct unwind_request request = {
		.registers = { .ip = frame[1],
			       .sp = (uintptr_t)(frame + 2),
			       .fp = frame[0],
			       .fp_known = true },
		.method = UNWIND_CFI,
		.thread_pointer = arch_thread_pointer(),
		.own = &own,
		.scratch = &scratch,
		.frames = frames,
		.max = UNWIND_FRAMES_MAX,
	};
	unsigned count;

	(void)unwind_stack(&request, &count);
	return count;
}

/* Nanoseconds of one walk from that depth; *count is how many frames it had. */
static __attribute__((noinline)) double
time_walks(unsigned depth, unsigned *count)
{
	double rounds[ROUNDS], ns;

	if (depth > 0) {
		ns = time_walks(depth - 1, count);
		keep(count);
		return ns;
	}
	for (int round = 0; round < ROUNDS; round++) {
		int64_t start = now_ns();

		for (int i = 0; i < WALKS; i++)
			*count = walk();
		rounds[round] = (double)(now_ns() - start) / WALKS;
	}
	return median(rounds, ROUNDS);
}

static double
cached_frame_ns(void)
{
	unsigned low, high;
	double low_ns = time_walks(DEPTH_LOW, &low);
	double high_ns = time_walks(DEPTH_HIGH, &high);

	if (high - low != DEPTH_HIGH - DEPTH_LOW) {
		fprintf(stderr, "frames: walks of %u and %u frames\n", low,
			high);
		exit(1);
	}
	return (high_ns - low_ns) / (high - low);
}

static double
cold_frame_ns(void)
{
	unsigned libc = modules_find((uintptr_t)(void *)qsort);
	const struct module *module = module_at(libc);
	uint64_t random = 1, words[CFI_MEMORY_BYTES / 8];
	static double each[COLD_PCS];
	uint64_t text = module->text_end - module->text_start;

	for (int i = 0; i < COLD_PCS; i++) {
		uintptr_t pc = module->bias + module->text_start +
			       random_below(&random, (uint32_t)text);
		struct cfi_section section;
		int64_t start = now_ns();

		module = module_at(modules_find(pc));
		section = (struct cfi_section){ module->eh_frame_hdr,
						module->eh_start,
						module->eh_end };
		keep(cfi_row(&section, pc, words));
		each[i] = (double)(now_ns() - start);
	}
	return median(each, COLD_PCS);
}

int
main(void)
{
	if (region_init((size_t)8 << 20, 1) != 0 || modules_init() != 0 ||
	    unwind_init() != 0)
		return 1;
	span_init();
	printf("%.1f ", cached_frame_ns());
	printf("%.0f\n", cold_frame_ns());
	return 0;
}
