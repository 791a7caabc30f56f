/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_call.c - a thread polls with a time-out, in known functions. Dumps are
 * asked for by signals to it, to another thread, and to it again; then it is
 * cancelled in the call. "cancelled", if its cleanup ran.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BETWEEN_US 300000

static bool cleaned;

static void
clean(void *argument)
{
	(void)argument;
	cleaned = true;
}

static __attribute__((noinline)) long
wait_in_known_function(void)
{
	long r = poll(NULL, 0, 60000);

	__asm__ volatile("" : "+r"(r)); /* no tail call */
	return r;
}

static void *
known_thread(void *argument)
{
	pthread_setname_np(pthread_self(), "waiter");
	pthread_cleanup_push(clean, NULL);
	printf("%ld\n", wait_in_known_function());
	pthread_cleanup_pop(0);
	return argument;
}

int
main(void)
{
	pthread_t thread, targets[3];
	void *result = NULL;

	if (pthread_create(&thread, NULL, known_thread, NULL) != 0)
		return 2;
	targets[0] = targets[2] = thread;
	targets[1] = pthread_self();
	usleep(BETWEEN_US);
	for (int i = 0; i < 3; i++) {
		pthread_kill(targets[i], SIGUSR2);
		usleep(BETWEEN_US);
	}
	pthread_cancel(thread);
	pthread_join(thread, &result);
	if (cleaned && result == PTHREAD_CANCELED)
		puts("cancelled");
	return 0;
}
