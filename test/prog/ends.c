/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ends.c - holds 10 blocks of 12345 bytes and ends in the way its argument
 * says: return, exit, _exit, quick_exit, abort, signal, exec (of true), thread
 * (pthread_exit of the main thread), or fault. On the way out it frees and
 * allocates in atexit and quick_exit functions, in a destructor, and in a
 * destructor of thread-local data; each says so on standard output.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 10
#define SIZE 12345

static void *volatile held[BLOCKS];
static void *volatile late[3];

static void
say(const char *word)
{
	if (write(1, word, strlen(word)) < 0)
		_exit(99);
}

static void
churn(unsigned i)
{
	free(late[i]);
	late[i] = malloc(200);
	late[i] = realloc(late[i], 20000);
	free(late[i]);
	late[i] = NULL;
}

static void
at_exit(void)
{
	churn(0);
	say("atexit\n");
}

static void
at_quick_exit_(void)
{
	churn(0);
	say("at_quick_exit\n");
}

static void
key_destructor(void *p)
{
	free(p);
	churn(1);
	say("key\n");
}

static __attribute__((destructor)) void
destructor(void)
{
	churn(2);
	say("destructor\n");
}

static __attribute__((noinline)) void
hold(void)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		held[i] = malloc(SIZE);
}

static void
finish(const char *how)
{
	if (strcmp(how, "exit") == 0)
		exit(41);
	if (strcmp(how, "_exit") == 0)
		_exit(42);
	if (strcmp(how, "quick_exit") == 0)
		quick_exit(43);
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "signal") == 0)
		raise(SIGTERM);
	if (strcmp(how, "exec") == 0)
		execl("/bin/true", "true", (char *)NULL);
	if (strcmp(how, "thread") == 0)
		pthread_exit(NULL);
	if (strcmp(how, "fault") == 0)
		*(volatile int *)8 = 1;
}

int
main(int argc, char **argv)
{
	pthread_key_t key;

	for (unsigned i = 0; i < 3; i++)
		late[i] = malloc(100);
	hold();
	if (atexit(at_exit) != 0 || at_quick_exit(at_quick_exit_) != 0 ||
	    pthread_key_create(&key, key_destructor) != 0 ||
	    pthread_setspecific(key, malloc(300)) != 0)
		return 1;
	finish(argc > 1 ? argv[1] : "return");
	return 40;
}
