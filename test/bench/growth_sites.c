/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growth_sites.c - malloc and free from many places of a program:
 *
 *	growth_sites SITES
 *
 * The places are functions that are called in turn, by chance, under 40
 * frames. Prints the least nanoseconds of processor time of a pair over the
 * rounds. With HEAPAGENT_RATE=1 each is a sample, of as many stacks.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"
#include "random.h"

#define SITES_MAX 12000
#define FRAMES 40
#define ROUNDS 15
#define ROUND_PAIRS 24000

void growth_pair(void);

__attribute__((noinline)) void
growth_pair(void)
{
	void *p = malloc(64);

	keep(p);
	free(p);
	__asm__ volatile("");
}

/* Each of 16 bytes, with call frame information of its own. */
__asm__(".text\n"
	".p2align 4\n"
	"growth_site:\n"
	".rept 12000\n"
	".p2align 4\n"
	".cfi_startproc\n"
	"sub $8, %rsp\n"
	".cfi_adjust_cfa_offset 8\n"
	"call growth_pair\n"
	"add $8, %rsp\n"
	".cfi_adjust_cfa_offset -8\n"
	"ret\n"
	".cfi_endproc\n"
	".endr\n"
	".p2align 4\n");
extern const char growth_site[];

static void
call_site(unsigned site)
{
	((void (*)(void))(uintptr_t)(growth_site + site * 16UL))();
}

static void
measure(unsigned sites)
{
	double least = 1e9;

	/* All of them once. */
	for (unsigned site = 0; site < sites; site++)
		call_site(site);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t random = 1;
		double start = thread_cpu_ns(), each;

		for (int i = 0; i < ROUND_PAIRS; i++)
			call_site(random_below(&random, sites));
		each = (thread_cpu_ns() - start) / ROUND_PAIRS;
		least = each < least ? each : least;
	}
	printf("%.0f\n", least);
}

static __attribute__((noinline)) void
descend(unsigned sites, unsigned level)
{
	if (level == 0)
		measure(sites);
	else
		descend(sites, level - 1);
	__asm__ volatile("");
}

int
main(int argc, char **argv)
{
	unsigned sites = argc == 2 ? (unsigned)atoi(argv[1]) : 0;

	if (sites < 1 || sites > SITES_MAX) {
		fprintf(stderr, "usage: growth_sites SITES\n");
		return 2;
	}
	descend(sites, FRAMES - 6);
	return 0;
}
