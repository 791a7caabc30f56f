/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small_stacks.c - allocates where there is hardly any stack: in threads with
 * the smallest one there is, or coroutines of 8 KiB, all of it used up but for
 * LEFT bytes; or in a handler on an alternate stack, likewise. Below a thread's
 * or coroutine's stack is a page that ends us when it is touched.
 *
 *	small_stacks threads|coroutines|handler LEFT
 */
/* CFLAGS: -Wl,-z,now */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define ROUNDS 200
#define THREADS 20
#define COROUTINE_BYTES ((size_t)8192)
#define PAGE_BYTES ((size_t)4096)

static size_t left_bytes;
static volatile sig_atomic_t handled;

/* A stack of size_bytes right above a page without access. */
static char *
map_stack(size_t size_bytes)
{
	size_t bytes = (size_bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	char *area = mmap(NULL, bytes + PAGE_BYTES, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED ||
	    mprotect(area + PAGE_BYTES, bytes, PROT_READ | PROT_WRITE) != 0)
		abort();
	return area + PAGE_BYTES;
}

static __attribute__((noinline)) void
take_all_sizes(void)
{
	for (size_t i = 0; i < ROUNDS; i++) {
		void *volatile p = malloc(70);
		void *volatile q = calloc(1, 70);

		p = realloc(p, 80);
		free(p);
		free(q);
	}
}

/* Goes down until there are just left_bytes above low. */
static __attribute__((noinline)) void
descend(char *low)
{
	volatile char here[64];

	here[0] = 0;
	if ((uintptr_t)here > (uintptr_t)low + left_bytes + sizeof(here))
		descend(low);
	else
		take_all_sizes();
	here[1] = here[0];
}

static void *
run(void *low)
{
	descend(low);
	return NULL;
}

static void
use_small_threads(void)
{
	size_t size = (size_t)sysconf(_SC_THREAD_STACK_MIN);
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	for (int i = 0; i < THREADS; i++) {
		char *low = map_stack(size);
		pthread_t thread;

		pthread_attr_setstack(&attributes, low, size);
		if (pthread_create(&thread, &attributes, run, low) != 0)
			abort();
		pthread_join(thread, NULL);
		munmap(low, size);
	}
	puts("small threads ok");
}

static ucontext_t coroutine, resumer;
static char *coroutine_low;

static void
body(void)
{
	descend(coroutine_low);
	swapcontext(&coroutine, &resumer);
}

static void
use_small_coroutine(void)
{
	coroutine_low = map_stack(COROUTINE_BYTES);
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = coroutine_low;
	coroutine.uc_stack.ss_size = COROUTINE_BYTES;
	makecontext(&coroutine, body, 0);
	swapcontext(&resumer, &coroutine);
	puts("small coroutine ok");
}

/*
 * The handler goes down as well: how much a signal's frame takes differs from
 * one processor to another. Below this stack there is no guard but bytes that
 * must stay as they are.
 */
#define HANDLER_BYTES ((size_t)16 << 10)
#define PAINTED_BYTES ((size_t)4096)
#define PAINT 0x5a

static char *handler_low;

static __attribute__((noinline)) void
on_signal(int signal)
{
	(void)signal;
	descend(handler_low);
	handled++;
}

static void
use_small_alternate_stack(void)
{
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_ONSTACK };
	char *painted = map_stack(PAINTED_BYTES + HANDLER_BYTES);
	stack_t stack = { .ss_sp = painted + PAINTED_BYTES,
			  .ss_size = HANDLER_BYTES };

	memset(painted, PAINT, PAINTED_BYTES);
	handler_low = stack.ss_sp;
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	for (size_t i = 0; i < PAINTED_BYTES; i++)
		if (painted[i] != PAINT)
			handled = -1;
	printf("small alternate stack ok: %d\n", (int)handled);
}

int
main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	left_bytes = (size_t)strtol(argv[2], NULL, 10);
	setvbuf(stdout, NULL, _IONBF, 0);
	if (strcmp(argv[1], "threads") == 0)
		use_small_threads();
	else if (strcmp(argv[1], "coroutines") == 0)
		use_small_coroutine();
	else
		use_small_alternate_stack();
}
