/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocked_frames.c - threads that wait, with a time-out, in calls that a stop
 * would end, below functions with a frame pointer and with frames of many
 * kinds. Says "ready" when all do, and ends when standard input does.
 *
 * Each thread is called after its kind of frame. "-v" at the end of a name: the
 * frame has stack whose size is not in the code. A thread's stack is
 * run < start_KIND < middle < KIND < wait_in (no frame pointer) < the call.
 *
 * CFLAGS: -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wno-vla
 * LIBS: -lrt
 */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 600
#define NOINLINE __attribute__((noinline, noclone, noipa))
#define NO_FRAME_POINTER \
	NOINLINE __attribute__((optimize("omit-frame-pointer")))

static int epoll, semaphores;
static unsigned long events;
static volatile long sink;
static volatile int yes = 1, no;

static NO_FRAME_POINTER long
wait_in(long call, const volatile void *frame)
{
	struct epoll_event event;
	struct timespec timeout = { SECONDS, 0 };
	struct sembuf take = { 0, -1, 0 };
	uint64_t completions[8];
	sigset_t set;

	sink += frame != NULL;
	switch (call) {
	case 0:
		return epoll_wait(epoll, &event, 1, SECONDS * 1000);
	case 1:
		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		return sigtimedwait(&set, NULL, &timeout);
	case 2:
		return semtimedop(semaphores, &take, 1, &timeout);
	default:
		return syscall(SYS_io_getevents, events, 1, 1, completions,
			       &timeout);
	}
}
#define CALLS 4

/* Takes arguments that are pushed, and hands the frame pointer on. */
static NO_FRAME_POINTER long
wait_with_nine(long call, long b, long c, long d, long e, long f, long g,
	       long h, long i)
{
	sink += b + c + d + e + f + g + h + i;
	return wait_in(call, NULL) + 1;
}

static NOINLINE long
plain(long call)
{
	volatile char buffer[200];

	buffer[call] = 1;
	return wait_in(call, buffer) + buffer[call];
}

static NOINLINE long
pushed(long call)
{
	volatile char buffer[100];

	buffer[call] = 1;
	if (wait_with_nine(call, 2, 3, 4, 5, 6, 7, 8, buffer[call]) < 0)
		return wait_with_nine(call, 1, 1, 1, 1, 1, 1, 1, sink);
	return buffer[call];
}

static NOINLINE long
realigned(long call)
{
	volatile char buffer[128] __attribute__((aligned(64)));

	buffer[call] = 1;
	return wait_in(call, buffer) + buffer[call];
}

static NOINLINE long
taking(long call)
{
	volatile char *buffer = alloca((size_t)(100 + call * 16 + no));

	buffer[call] = 1;
	return wait_in(call, buffer) + buffer[call];
}

static NOINLINE long
array(long call)
{
	volatile char buffer[100 + call * 16 + no];

	buffer[call] = 1;
	return wait_in(call, buffer) + buffer[call];
}

/* The array is gone when the call is made; its instructions are not. */
static NOINLINE long
scoped(long call)
{
	if (yes) {
		volatile char buffer[100 + call * 16 + no];

		buffer[call] = 1;
		sink += buffer[call];
	}
	return wait_in(call, &sink) + 1;
}

/* The frame is made on one way only, and the call is a case of a switch. */
static NOINLINE long
cases(long call)
{
	volatile char buffer[64];

	if (no)
		return 0;
	buffer[1] = 1;
	switch (yes) {
	case 0:
		return sink++;
	case 1:
		return wait_in(call, buffer) + buffer[1];
	case 2:
		return sink * 3;
	case 3:
		puts("three");
		return sink / 7;
	case 4:
		return getpid();
	case 5:
		abort();
	default:
		return -1;
	}
}

static __attribute__((cold, noinline)) void
complain(const char *what)
{
	fputs(what, stderr);
}

/* Some of it is in a part of its own. */
static NOINLINE long
unlikely(long call)
{
	volatile char buffer[64];

	buffer[call] = 1;
	for (int i = 0; i < 3; i++)
		if (buffer[call] == 9) {
			complain("nine");
			wait_with_nine(call, 2, 3, 4, 5, 6, 7, 8, sink);
			sink++;
		}
	return wait_in(call, buffer) + buffer[call];
}

/* In the part of its own, where the compiler has put the alloca(). */
static NOINLINE long
cold_take(long call)
{
	volatile char *buffer = NULL;

	if (__builtin_expect(yes, 0)) {
		complain("");
		buffer = alloca((size_t)(100 + call * 16 + no));
		buffer[call] = 1;
	}
	return wait_in(call, buffer) + 1;
}

/* This frame, where it went to from an earlier call, in all of the next. */
struct planted {
	uintptr_t fp, ip;
};
static _Thread_local struct planted planted;

#define FILL(buffer) \
	for (unsigned i = 0; i < sizeof(buffer) / sizeof((buffer)[0]); i++) \
	(buffer)[i] = planted

static NOINLINE long
stale(long call)
{
	volatile struct planted buffer[32];

	if (planted.fp == 0) {
		uintptr_t *frame = __builtin_frame_address(0);

		planted.fp = frame[0];
		planted.ip = frame[1];
		return 1;
	}
	FILL(buffer);
	return wait_in(call, buffer) + (long)buffer[3].fp;
}

static NOINLINE long
stale_taking(long call)
{
	volatile struct planted *buffer, fixed[32];

	if (planted.fp == 0) {
		uintptr_t *frame = __builtin_frame_address(0);

		planted.fp = frame[0];
		planted.ip = frame[1];
		return 1;
	}
	buffer = alloca((size_t)(1024 + call * 16 + no));
	for (int i = 0; i < 64; i++)
		buffer[i] = planted;
	FILL(fixed);
	return wait_in(call, buffer) + (long)fixed[3].fp;
}

static NOINLINE long
by_pointer(long call)
{
	volatile char buffer[96];

	buffer[call] = 1;
	return wait_in(call, buffer) + buffer[call];
}

static NOINLINE long
middle(long (*volatile kind)(long), long call)
{
	volatile char buffer[48];

	buffer[call] = 1;
	return kind(call) + buffer[call];
}

#define DIRECT(kind) \
	static NOINLINE long start_##kind(long call) \
	{ \
		volatile char buffer[32]; \
		buffer[call] = 1; \
		sink += kind(call); \
		return buffer[call]; \
	}
DIRECT(plain)
DIRECT(pushed)
DIRECT(realigned)
DIRECT(taking)
DIRECT(array)
DIRECT(scoped)
DIRECT(cases)
DIRECT(unlikely)
DIRECT(cold_take)

static NOINLINE long
start_stale(long call)
{
	stale(call);
	return middle(stale, call);
}

static NOINLINE long
start_stale_taking(long call)
{
	stale_taking(call);
	return middle(stale_taking, call);
}

static NOINLINE long
start_by_pointer(long call)
{
	return middle(by_pointer, call) + 1;
}

static const struct {
	const char *name;
	long (*start)(long call);
} kinds[] = {
	{ "plain", start_plain },	    { "pushed", start_pushed },
	{ "realigned", start_realigned },   { "taking-v", start_taking },
	{ "array-v", start_array },	    { "scoped-v", start_scoped },
	{ "cases", start_cases },	    { "unlikely", start_unlikely },
	{ "cold_take-v", start_cold_take }, { "stale", start_stale },
	{ "stale-v", start_stale_taking },  { "by_pointer", start_by_pointer },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void *
run(void *argument)
{
	long number = (long)(intptr_t)argument;

	pthread_setname_np(pthread_self(), kinds[number / CALLS].name);
	sink += kinds[number / CALLS].start(number % CALLS);
	fprintf(stderr, "%s: call %ld has returned\n",
		kinds[number / CALLS].name, number % CALLS);
	pause();
	return NULL;
}

int
main(void)
{
	sigset_t set;
	char c;

	epoll = epoll_create1(0);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	if (epoll < 0 || semaphores < 0 ||
	    syscall(SYS_io_setup, 8, &events) != 0) {
		perror("blocked_frames");
		return 2;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; i < KINDS * CALLS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, (void *)i) != 0)
			abort();
	}
	usleep(300000);
	printf("ready\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	semctl(semaphores, 0, IPC_RMID);
	return 0;
}
