/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_libraries.c - opens libraries with thread-local memory and touches that
 * of each from each of many threads, which exist before the libraries do.
 *
 *	tls_libraries THREADS LIBRARY...
 *
 * Prints how many could be opened and how often one was touched.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define LIBRARIES_MAX 256

static int (*touch[LIBRARIES_MAX])(int);
static int opened;
static long touched;
static pthread_barrier_t begin;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *
run(void *mark)
{
	int value = (int)(size_t)mark;

	pthread_barrier_wait(&begin);
	for (int i = 0; i < opened; i++) {
		if (touch[i](value) != 0 || touch[i](value) != value)
			abort();
		pthread_mutex_lock(&lock);
		touched++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	int count = atoi(argv[1]);
	pthread_t threads[256];

	pthread_barrier_init(&begin, NULL, (unsigned)count + 1);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, run, (void *)(size_t)(i + 1));
	for (int i = 2; i < argc; i++) {
		void *handle = dlopen(argv[i], RTLD_NOW);

		if (handle == NULL)
			break;
		*(void **)&touch[opened++] = dlsym(handle, "tls_touch");
	}
	pthread_barrier_wait(&begin);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("opened %d, touched %ld\n", opened, touched);
}
