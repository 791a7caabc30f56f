/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pause_threads.c - what a dump costs a program of many threads:
 *
 *	pause_threads THREADS ROUNDS
 *
 * Of THREADS threads (the main thread is one) nearly all are blocked, in eight
 * kinds of calls by turns; four wake up every millisecond, and one reads the
 * clock all the time. Asks for ROUNDS dumps of itself and prints, in
 * microseconds: the median and the largest time from kill() until it returns,
 * which is what the signalled thread loses; the median until the heap file is
 * there; the median of the largest gap in the readings of the clock during a
 * dump, and in as long a time without one; and the same two without what the
 * thread waited for a processor in its gap.
 *
 * LIBS: -pthread
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "measure.h"
#include "spinner.h"

#define ROUNDS_MAX 1000
#define PATIENCE_NS INT64_C(60000000000)
#define STACK_BYTES ((size_t)64 << 10)
#define WORKERS 4
#define OTHERS (2 + WORKERS) /* main, the spinner */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int ends[2];
static int epoll;
/* Atomic. */
static int begun;

static void
block(unsigned long kind)
{
	const struct timespec long_time = { 3600, 0 };
	struct timespec end = { 0, 0 };
	struct epoll_event event;
	char c;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 3600;
	switch (kind) {
	case 0:
		(void)!read(ends[0], &c, 1);
		break;
	case 1:
		sem_wait(&semaphore);
		break;
	case 2:
		poll(NULL, 0, -1);
		break;
	case 3:
		nanosleep(&long_time, NULL);
		break;
	case 4:
		epoll_wait(epoll, &event, 1, -1);
		break;
	case 5: /* a stop would be noticed: read without one */
		epoll_wait(epoll, &event, 1, 3600 * 1000);
		break;
	case 6:
		sem_timedwait(&semaphore, &end);
		break;
	default:
		pthread_mutex_lock(&mutex);
		pthread_cond_wait(&condition, &mutex);
		pthread_mutex_unlock(&mutex);
	}
}

static void *
blocked(void *argument)
{
	/* Relaxed: a number that main() waits for. */
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
	for (;;)
		block((unsigned long)argument % 8);
	return NULL;
}

static void *
work(void *unused)
{
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
	for (;;) {
		keep(malloc(100));
		usleep(1000);
	}
	return unused;
}

static void
start(void *(*body)(void *), unsigned long argument)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	if (pthread_create(&thread, &attributes, body, (void *)argument) != 0) {
		fprintf(stderr, "pause_threads: too many threads\n");
		exit(2);
	}
	pthread_attr_destroy(&attributes);
}

static void
start_all(int threads)
{
	if (sem_init(&semaphore, 0, 0) != 0 || pipe(ends) != 0 ||
	    (epoll = epoll_create1(0)) < 0) {
		perror("pause_threads");
		exit(2);
	}
	for (int i = 0; i < WORKERS; i++)
		start(work, 0);
	for (int i = 0; i < threads - OTHERS; i++)
		start(blocked, (unsigned long)i);
	while (__atomic_load_n(&begun, __ATOMIC_RELAXED) <
	       threads - OTHERS + WORKERS)
		usleep(1000);
	/* Until the last of them is blocked. */
	usleep(100000);
	spinner_start();
}

static void
wait_for(const char *path, int64_t start_ns)
{
	while (access(path, F_OK) != 0) {
		if (now_ns() - start_ns > PATIENCE_NS) {
			fprintf(stderr, "pause_threads: no %s\n", path);
			exit(1);
		}
		usleep(100);
	}
}

struct figures {
	double pause_us[ROUNDS_MAX];
	double duration_us[ROUNDS_MAX];
	double gap_us[ROUNDS_MAX];
	double stop_us[ROUNDS_MAX];
	double quiet_gap_us[ROUNDS_MAX];
	double quiet_stop_us[ROUNDS_MAX];
};

static void
dump_once(struct figures *figures, int round, const char *path)
{
	int64_t begin, returned, done;
	struct spinner_gaps gaps;

	(void)spinner_take();
	begin = now_ns();
	/* To this thread: kill() may choose another. */
	pthread_kill(pthread_self(), SIGUSR2);
	returned = now_ns();
	wait_for(path, begin);
	done = now_ns();
	gaps = spinner_take();
	figures->gap_us[round] = gaps.gap_us;
	figures->stop_us[round] = gaps.stop_us;
	figures->pause_us[round] = (double)(returned - begin) / 1e3;
	figures->duration_us[round] = (double)(done - begin) / 1e3;
	usleep((useconds_t)((done - begin) / 1000));
	gaps = spinner_take();
	figures->quiet_gap_us[round] = gaps.gap_us;
	figures->quiet_stop_us[round] = gaps.stop_us;
}

int
main(int argc, char **argv)
{
	static struct figures figures;
	const char *directory = getenv("HEAPAGENT_DIR");
	int threads = argc == 3 ? atoi(argv[1]) : 0;
	int rounds = argc == 3 ? atoi(argv[2]) : 0;
	char path[4096];

	if (threads <= OTHERS || rounds < 1 || rounds > ROUNDS_MAX ||
	    directory == NULL) {
		fprintf(stderr, "usage: HEAPAGENT_DIR=DIR pause_threads "
				"THREADS ROUNDS\n");
		return 2;
	}
	start_all(threads);
	for (int round = 0; round < rounds; round++) {
		snprintf(path, sizeof(path),
			 "%s/pause_threads.%d.%04d.heap.pb.gz", directory,
			 getpid(), round + 1);
		dump_once(&figures, round, path);
	}
	printf("%.1f %.1f %.1f ", median(figures.pause_us, rounds),
	       quantile(figures.pause_us, rounds, 1),
	       median(figures.duration_us, rounds));
	printf("%.1f %.1f %.1f %.1f\n", median(figures.gap_us, rounds),
	       median(figures.quiet_gap_us, rounds),
	       median(figures.stop_us, rounds),
	       median(figures.quiet_stop_us, rounds));
	return 0;
}
