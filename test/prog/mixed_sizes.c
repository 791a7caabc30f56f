/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mixed_sizes.c - one call allocates blocks of one size class, small ones first
 * and larger ones later, so that their mean moves; asks for a dump of itself
 * after each half, with half of the blocks freed. Its thread's name is cut
 * within a letter, as the kernel does it.
 *
 * CFLAGS: -O0
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#define BLOCKS 2000

static void *kept[BLOCKS];

/* From 1,024 to 1,279 bytes; the first one has 1,030. */
static size_t
size_of(unsigned i)
{
	return 1024 + (i < BLOCKS / 2 ? 6 + i * 7 % 40 : 100 + i * 7 % 156);
}

int
main(void)
{
	/* "обработч" of "обработчик", less the last byte. */
	prctl(PR_SET_NAME, "\xd0\xbe\xd0\xb1\xd1\x80\xd0\xb0\xd0\xb1\xd0\xbe"
			   "\xd1\x82\xd1");
	for (unsigned i = 0; i < BLOCKS; i++) {
		kept[i] = malloc(size_of(i));
		if (i % 2 != 0)
			free(kept[i]);
		if ((i + 1) % (BLOCKS / 2) == 0)
			raise(SIGUSR2);
	}
	return 0;
}
