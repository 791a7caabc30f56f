/* SPDX-License-Identifier: Apache-2.0 */
/*
 * short_threads.c - many threads, one after the other and a few at a time,
 * each of which allocates and ends, half of them detached. Its memory must
 * not grow with their number.
 *
 *	short_threads COUNT
 *
 * Prints whether it grew by more than 1 MiB over the last nine tenths.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define GROWTH_MAX_BYTES ((long)1 << 20)

static sem_t ended;
static void *handed_over;

static __attribute__((noinline)) void *
take_in_thread(void)
{
	void *volatile p = malloc(200);

	return p;
}

/* Frees the block of the thread before, which is gone. */
static void *
run(void *unused)
{
	(void)unused;
	free(handed_over);
	handed_over = take_in_thread();
	sem_post(&ended);
	return NULL;
}

static long
resident_bytes(void)
{
	long size, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file == NULL || fscanf(file, "%ld %ld", &size, &resident) != 2)
		abort();
	fclose(file);
	return resident * sysconf(_SC_PAGESIZE);
}

int
main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 100;
	long before = 0;

	sem_init(&ended, 0, 0);
	for (int i = 0; i < count; i++) {
		pthread_t thread;

		if (i == count / 10)
			before = resident_bytes();
		/* The one before may not have unmapped its stack yet. */
		while (pthread_create(&thread, NULL, run, NULL) != 0)
			usleep(1000);
		while (sem_wait(&ended) != 0)
			;
		if (i % 2 == 0)
			pthread_join(thread, NULL);
		else
			pthread_detach(thread);
	}
	if (resident_bytes() - before > GROWTH_MAX_BYTES)
		printf("grew by %ld bytes\n", resident_bytes() - before);
	printf("%d threads\n", count);
}
