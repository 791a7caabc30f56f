/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_step.c - code of many shapes, run one instruction at a time under
 * unwind_compare: with the trap flag set, each instruction is a signal.
 *
 * CFLAGS: -O0 -fomit-frame-pointer -fasynchronous-unwind-tables
 * CFLAGS: -Wl,-z,lazy -mavx
 * LIBS: -lm
 */
#include <alloca.h>
#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include <immintrin.h>

#include "step.h"

#define NOINLINE __attribute__((noinline))

static volatile long sink;

static NOINLINE long
leaf(long a, long b)
{
	return a * 3 + b;
}

static NOINLINE long
many_registers(long a, long b, long c, long d)
{
	long e = leaf(a, b), f = leaf(b, c), g = leaf(c, d), h = leaf(d, a);

	sink += leaf(e, f) + leaf(g, h);
	return e ^ f ^ g ^ h ^ a ^ b ^ c ^ d;
}

static NOINLINE long
dynamic_room(unsigned size)
{
	char *room = alloca(size);

	memset(room, 1, size);
	return room[size / 2] + leaf(size, 1);
}

/* A realigned stack: its CFA is loaded from memory. */
static NOINLINE long
aligned_room(const double *in)
{
	__m256d __attribute__((aligned(64))) room[4];
	double sum[4];

	for (int i = 0; i < 4; i++)
		room[i] = _mm256_set1_pd(in[i]);
	_mm256_storeu_pd(sum, _mm256_add_pd(room[0], room[3]));
	return (long)sum[1] + dynamic_room(64 + (unsigned)in[0]);
}

static NOINLINE long
recurse(int depth)
{
	volatile char room[40];

	room[0] = (char)depth;
	return depth ? recurse(depth - 1) + room[0] : leaf(1, 2);
}

static int
order(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void
sort_some(void)
{
	int numbers[9] = { 5, 3, 9, 1, 7, 2, 8, 6, 4 };

	qsort(numbers, 9, sizeof(numbers[0]), order);
	sink += numbers[4];
}

/* The first calls go through the lazy binder. */
static NOINLINE void
library_calls(void)
{
	char text[64];
	struct timespec now;

	sink += (long)floor(sqrt(1e6 + (double)sink));
	sink += toupper((int)(sink % 26) + 'a');
	snprintf(text, sizeof(text), "%ld %s %.3f", sink, "x", 0.5);
	sink += strtol(text, NULL, 10);
	sink += (long)strlen(strchr(text, ' '));
	for (int i = 0; i < 3; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	sink += time(NULL);
	free(malloc(100));
	free(calloc(3, 1000));
}

static volatile sig_atomic_t handled;

static void
handle(int signal)
{
	(void)signal;
	step_begin();
	handled++;
	sink += many_registers(1, 2, 3, sink);
	step_end();
}

static void
handle_nested(int signal)
{
	(void)signal;
	sink += leaf(1, 2);
	raise(SIGUSR1);
}

/* Handlers on this stack, on another one, and in one another. */
static void
signals(void)
{
	static char room[1 << 16];
	stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) };
	struct sigaction action = { .sa_handler = handle };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	action.sa_handler = handle_nested;
	sigaction(SIGUSR2, &action, NULL);
	raise(SIGUSR2);
}

static NOINLINE void
jump(jmp_buf *to)
{
	sink += many_registers(4, 3, 2, 1);
	longjmp(*to, 1);
}

static NOINLINE void
jumps(void)
{
	jmp_buf here;

	if (setjmp(here) == 0)
		jump(&here);
}

static ucontext_t main_context, other_context;

static void
other(void)
{
	for (int i = 0; i < 2; i++) {
		step_begin();
		sink += recurse(3);
		step_end();
		swapcontext(&other_context, &main_context);
	}
}

static void
contexts(void)
{
	static char room[1 << 16];

	getcontext(&other_context);
	other_context.uc_stack.ss_sp = room;
	other_context.uc_stack.ss_size = sizeof(room);
	other_context.uc_link = &main_context;
	makecontext(&other_context, other, 0);
	swapcontext(&main_context, &other_context);
	swapcontext(&main_context, &other_context);
}

static NOINLINE void
all_stepped(void)
{
	const double in[4] = { 1, 2, 3, 4 };

	step_begin();
	sink += many_registers(1, 2, 3, 4);
	sink += dynamic_room(100);
	sink += aligned_room(in);
	sink += recurse(20);
	sort_some();
	jumps();
	library_calls();
	library_calls();
	step_end();
}

static void *
in_thread(void *unused)
{
	(void)unused;
	all_stepped();
	return NULL;
}

int
main(void)
{
	pthread_t thread;

	all_stepped();
	signals();
	contexts();
	if (pthread_create(&thread, NULL, in_thread, NULL) == 0)
		pthread_join(thread, NULL);
	printf("handled %d\n", (int)handled);
	return 0;
}
