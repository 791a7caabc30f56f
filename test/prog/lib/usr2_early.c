/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usr2_early.c - a library that takes SIGUSR2 in its constructor, and says at
 * exit how often it came.
 */
#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t handled;

static void
on_signal(int signal)
{
	(void)signal;
	handled++;
}

static __attribute__((constructor)) void
construct(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGUSR2, &action, NULL);
}

static __attribute__((destructor)) void
destruct(void)
{
	printf("library: %d\n", (int)handled);
}
