/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fpflags.c - floating point is the program's own, whatever the agent does:
 *
 *	fpflags flags	no exception is raised by what allocates, frees,
 *			forks, and asks for a dump
 *	fpflags traps	every exception would end the program
 *	fpflags modes	every result is rounded upwards, tiny ones are 0: the
 *			control words stay, and so does what the profile says
 *
 * Holds 1,000 blocks of 1,000 bytes when it asks for its dump.
 *
 * LIBS: -lm
 */
#include <fenv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

#define HELD 1000
#define CHURN 200000

static void *volatile held[HELD];

static void
work(void)
{
	for (unsigned i = 0; i < CHURN; i++) {
		void *volatile p = malloc(1 + i % 5000);

		p = realloc(p, 1 + i % 7000);
		free(p);
	}
}

static __attribute__((noinline)) void
take_held(void)
{
	for (unsigned i = 0; i < HELD; i++)
		held[i] = malloc(1000);
}

/* 0 if nothing was raised and the control words are as given. */
static int
look(unsigned sse, unsigned short x87)
{
	unsigned short x87_now;

	__asm__ volatile("fnstcw %0" : "=m"(x87_now));
	return _mm_getcsr() != sse || x87_now != x87 ||
	       fetestexcept(FE_ALL_EXCEPT) != 0;
}

int
main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "flags";
	unsigned short x87;
	unsigned sse;
	int status = 0, failed;
	pid_t pid;

	if (strcmp(mode, "modes") == 0) {
		fesetround(FE_UPWARD);
		_mm_setcsr(_mm_getcsr() | 0x8040); /* FTZ and DAZ */
	}
	feclearexcept(FE_ALL_EXCEPT);
	if (strcmp(mode, "traps") == 0)
		feenableexcept(FE_ALL_EXCEPT);
	sse = _mm_getcsr();
	__asm__ volatile("fnstcw %0" : "=m"(x87));
	work();
	take_held();
	pid = fork();
	if (pid == 0) {
		work();
		_exit(look(sse, x87));
	}
	failed = waitpid(pid, &status, 0) != pid || status != 0;
	kill(getpid(), SIGUSR2);
	failed |= look(sse, x87);
	puts(failed ? "touched" : "untouched");
	return failed;
}
