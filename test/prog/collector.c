/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector.c - a program of the Boehm collector, which reads every writable
 * segment of every library, collects before and after a dump. Prints
 * "collected".
 *
 * LIBS: -lgc
 */
#include <gc.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void *volatile keep;

static void
make_garbage(void)
{
	for (unsigned i = 0; i < 100000; i++)
		keep = GC_MALLOC(100);
	GC_gcollect();
}

int
main(int argc, char **argv)
{
	(void)argv;
	GC_INIT();
	make_garbage();
	if (argc > 1)
		kill(getpid(), SIGUSR2);
	make_garbage();
	puts("collected");
	return 0;
}
