/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fails.c - allocations that fail beside those that do not:
 *
 *	fails plain COUNT EACH	EACH calls that fail before each good one
 *	fails nest COUNT	in each that fails another one is made (lib/
 *				fails_nest.c, preloaded behind the agent)
 *	fails jump COUNT	the failing one is left by a jump out of it
 *(same) fails handler COUNT	as nest, in tcmalloc's new_handler (preloaded)
 *
 *	fails calloc COUNT	none does, and the good ones are callocs
 *
 * COUNT blocks of 100 bytes are allocated and freed. Asks for a dump and
 * prints the bytes of them.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE 100
#define FAILING 77777 /* what lib/fails_nest.c refuses */
#define OTHERS 2000

static void *volatile sink;
static volatile size_t too_much = (size_t)PTRDIFF_MAX - 4096;
static sigjmp_buf out;

static void
jump(void)
{
	longjmp(out, 1);
}

static __attribute__((noinline)) void
inside(void)
{
	sink = malloc(50);
	free(sink);
}

/* As C++'s set_new_handler(): what tcmalloc calls when it has no memory. */
static void *(*set_handler)(void (*)(void));

static void
handler(void)
{
	inside();
	set_handler(NULL);
}

/* Four calls that fail, of as many kinds, one for each number. */
static void
fail(unsigned kind)
{
	void *p = NULL;

	switch (kind % 4) {
	case 0:
	case 1: /* 4 is no power of two times the size of a pointer */
		if (posix_memalign(&p, 4, SIZE) == 0)
			abort();
		break;
	case 2:
		sink = calloc(1, too_much);
		break;
	default:
		sink = realloc(NULL, too_much);
		break;
	}
}

static void
fail_otherwise(const char *mode)
{
	void (**hook)(void) = dlsym(RTLD_DEFAULT, "fails_nest_hook");
	void (*set_mode)(int) = NULL;

	if (hook != NULL)
		*hook = strcmp(mode, "jump") == 0 ? jump : inside;
	*(void **)&set_mode = dlsym(RTLD_DEFAULT, "tc_set_new_mode");
	*(void **)&set_handler =
		dlsym(RTLD_DEFAULT, "_ZSt15set_new_handlerPFvvE");
	if (set_mode != NULL)
		set_mode(1);
	for (volatile int i = 0; i < OTHERS; i++)
		if (set_mode != NULL && set_handler != NULL) {
			set_handler(handler);
			sink = malloc(too_much);
		} else if (hook != NULL && setjmp(out) == 0) {
			sink = malloc(FAILING);
		}
	if (sink != NULL || (hook == NULL && set_mode == NULL))
		abort();
}

static __attribute__((noinline)) void
good(bool by_calloc)
{
	sink = by_calloc ? calloc(1, SIZE) : malloc(SIZE);
	free(sink);
}

int
main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	unsigned each = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
	bool by_calloc = argc > 1 && strcmp(argv[1], "calloc") == 0;

	if (argc > 1 && strcmp(argv[1], "plain") != 0 && !by_calloc)
		fail_otherwise(argv[1]);
	for (unsigned long i = 0; i < count; i++) {
		for (unsigned n = 0; n < each; n++)
			fail(n);
		good(by_calloc);
	}
	kill(getpid(), SIGUSR2);
	printf("%lu\n", count * SIZE);
	return 0;
}
