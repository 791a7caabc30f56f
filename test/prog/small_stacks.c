/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small_stacks.c - allocates where there is hardly any stack: in threads with
 * the smallest one there is, all of it used up but for LEFT bytes, or in
 * handlers on the smallest alternate stack and LEFT bytes. Below each stack is
 *a page that ends us when it is touched.
 *
 *	small_stacks threads|handlers LEFT
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
#include <unistd.h>

#define ROUNDS 200
#define THREADS 20
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

static __attribute__((noinline)) void
on_signal(int signal)
{
	void *volatile p = malloc(110);

	(void)signal;
	free(p);
	handled++;
}

static void
use_small_alternate_stack(void)
{
	size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + left_bytes;
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_ONSTACK };
	stack_t stack = { .ss_sp = map_stack(size), .ss_size = size };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < ROUNDS; i++)
		raise(SIGUSR1);
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
	else
		use_small_alternate_stack();
}
