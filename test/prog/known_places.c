/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_places.c - `known_places [KIND]`: 200 threads, each of which waits in
 * another place: the functions, how often they call each other and the system
 * call are made of the thread's number, as is its name; and threads on stacks
 * that are not theirs, in handlers, and interrupted in the vDSO. With KIND the
 * main thread is one of these, too. Says "ready" when all are there, and ends
 * when standard input does.
 *
 * CFLAGS: -Wno-vla
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "map_stack.h"

#define THREADS 200
#define NOINLINE __attribute__((noinline, noclone))
#define STACK_BYTES ((size_t)64 << 10)

static sem_t never;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int pipe_ends[2], socket_ends[2], epoll;
static volatile long sink;

/* --- the calls */

static NOINLINE void
on_semaphore(void)
{
	while (sem_wait(&never) != 0)
		;
}

static NOINLINE void
on_mutex(void)
{
	pthread_mutex_lock(&held);
}

static NOINLINE void
on_condition(void)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&own);
	for (;;)
		pthread_cond_wait(&condition, &own);
}

static NOINLINE void
on_pipe(void)
{
	char c;

	while (read(pipe_ends[0], &c, 1) != 1)
		;
}

static NOINLINE void
on_socket(void)
{
	char c;

	while (recv(socket_ends[0], &c, 1, 0) != 1)
		;
}

static NOINLINE void
in_poll(void)
{
	struct pollfd fd = { .fd = pipe_ends[0], .events = POLLIN };

	while (poll(&fd, 1, -1) != 1)
		;
}

static NOINLINE void
in_epoll(void)
{
	struct epoll_event event;

	while (epoll_wait(epoll, &event, 1, -1) != 1)
		;
}

/* Not stopped by a dump. */
static NOINLINE void
in_finite_epoll(void)
{
	struct epoll_event event;

	while (epoll_wait(epoll, &event, 1, 600000) != 1)
		;
}

static NOINLINE void
in_sleep(void)
{
	const struct timespec long_time = { 600, 0 };

	for (;;)
		nanosleep(&long_time, NULL);
}

static NOINLINE void
in_pause(void)
{
	for (;;)
		pause();
}

static void (*const waits[])(void) = {
	on_semaphore, on_mutex, on_condition,	 on_pipe,  on_socket,
	in_poll,      in_epoll, in_finite_epoll, in_sleep, in_pause,
};
#define WAITS (sizeof(waits) / sizeof(waits[0]))

/* --- the ways there: each digit of the path is the next function */

static void go(unsigned long path, unsigned depth, unsigned wait);

static NOINLINE void
north(unsigned long path, unsigned depth, unsigned wait)
{
	volatile char room[40];

	room[depth % 40] = 1;
	go(path / 4, depth - 1, wait);
	sink += room[depth % 40];
}

static NOINLINE void
east(unsigned long path, unsigned depth, unsigned wait)
{
	volatile long room[60];

	for (int i = 0; i < 60; i++)
		room[i] = (long)path * i;
	go(path / 4, depth - 1, wait);
	for (int i = 0; i < 60; i++)
		sink += room[i];
}

static NOINLINE void
south(unsigned long path, unsigned depth, unsigned wait)
{
	volatile char room[64 + path % 100 + depth];

	room[depth] = (char)path;
	go(path / 4, depth - 1, wait);
	sink += room[depth];
}

static NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) void
west(unsigned long path, unsigned depth, unsigned wait)
{
	volatile double room[3] __attribute__((aligned(64)));

	room[depth % 3] = (double)path;
	go(path / 4, depth - 1, wait);
	sink += (long)room[depth % 3];
}

static NOINLINE void
go(unsigned long path, unsigned depth, unsigned wait)
{
	if (depth == 0) {
		waits[wait]();
		abort();
	}
	switch (path % 4) {
	case 0:
		north(path, depth, wait);
		break;
	case 1:
		east(path, depth, wait);
		break;
	case 2:
		south(path, depth, wait);
		break;
	default:
		west(path, depth, wait);
	}
	sink++;
}

/* --- other stacks */

static void
coroutine_body(unsigned wait)
{
	go(0x1b, 4, wait);
	abort();
}

static void
wait_in_coroutine(unsigned wait)
{
	ucontext_t here, there;

	getcontext(&there);
	there.uc_stack.ss_sp = map_stack(STACK_BYTES);
	there.uc_stack.ss_size = STACK_BYTES;
	there.uc_link = NULL;
	makecontext(&there, (void (*)(void))coroutine_body, 1, wait);
	swapcontext(&here, &there);
}

static void
coroutine(void)
{
	wait_in_coroutine(0);
}

static void
coroutine_unstopped(void)
{
	wait_in_coroutine(7);
}

/*
 * As libraries for coroutines do it: sp is set to the top of a stack, where a
 * return address of 0 lies, and the function is jumped to.
 */
static void
fiber_body(void)
{
	go(0xe4, 5, 0);
	abort();
}

static void
fiber(void)
{
	uintptr_t *top = (uintptr_t *)(map_stack(STACK_BYTES) + STACK_BYTES);

	top[-2] = 0;
	__asm__ volatile("mov %0, %%rsp\n\t"
			 "jmp *%1"
			 :
			 : "r"(top - 2), "r"(fiber_body)
			 : "memory");
	__builtin_unreachable();
}

static _Thread_local unsigned wait_of_handler;

static void
on_signal(int nr)
{
	(void)nr;
	go(0x2d, 3, wait_of_handler);
}

static void
raise_with(int flags, unsigned wait)
{
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = flags };

	wait_of_handler = wait;
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

static void
raise_on_alternate(unsigned wait)
{
	stack_t stack = { .ss_sp = map_stack(STACK_BYTES),
			  .ss_size = STACK_BYTES };

	sigaltstack(&stack, NULL);
	raise_with(SA_ONSTACK, wait);
}

static void
handler(void)
{
	raise_with(0, 9);
}

static void
alternate(void)
{
	raise_on_alternate(2);
}

static void
alternate_unstopped(void)
{
	raise_on_alternate(7);
}

/* --- in the vDSO: stepped to an instruction of it, where it stays */

#define TRAP_FLAG 0x100
#define STEPS_INSIDE 20

static _Thread_local int steps_inside;

static void
on_step(int nr, siginfo_t *info, void *data)
{
	greg_t *registers = ((ucontext_t *)data)->uc_mcontext.gregs;
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);

	(void)nr;
	(void)info;
	if ((uintptr_t)registers[REG_RIP] - vdso < 2 * PAGE_BYTES &&
	    ++steps_inside == STEPS_INSIDE) {
		registers[REG_EFL] &= ~TRAP_FLAG;
		on_semaphore();
	}
}

static void
vdso(void)
{
	struct sigaction action = { .sa_sigaction = on_step,
				    .sa_flags = SA_SIGINFO };
	struct timespec now;

	sigaction(SIGTRAP, &action, NULL);
	__asm__ volatile("pushf; orq $0x100, (%%rsp); popf" ::: "memory", "cc");
	for (;;)
		sink += clock_gettime(CLOCK_MONOTONIC, &now);
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {
	{ "coroutine", coroutine }, { "coroutine-u", coroutine_unstopped },
	{ "fiber", fiber },	    { "handler", handler },
	{ "alternate", alternate }, { "alternate-u", alternate_unstopped },
	{ "vdso", vdso },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void *
run(void *argument)
{
	unsigned number = (unsigned)(uintptr_t)argument;
	char name[16];

	if (number < KINDS) {
		pthread_setname_np(pthread_self(), kinds[number].name);
		kinds[number].run();
		abort();
	}
	number -= KINDS;
	snprintf(name, sizeof(name), "place-%u", number % 1000);
	pthread_setname_np(pthread_self(), name);
	/* 0x9e3779b9: so that neighbours go different ways. */
	go(number * 0x9e3779b9UL >> 4, number % 37, number % WAITS);
	abort();
}

/* Ends the program from beside, as the main thread may never. */
static void *
watch_input(void *nothing)
{
	char c;

	usleep(500000);
	printf("ready\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	_exit(0);
	return nothing;
}

static void
start(void *(*body)(void *), size_t argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, (void *)argument) != 0)
		abort();
}

int
main(int argc, char **argv)
{
	sem_init(&never, 0, 0);
	pthread_mutex_lock(&held);
	epoll = epoll_create1(0);
	if (pipe(pipe_ends) != 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, socket_ends) != 0)
		abort();
	for (size_t i = 0; i < KINDS + THREADS; i++)
		start(run, i);
	start(watch_input, 0);
	for (size_t i = 0; argc > 1 && i < KINDS; i++)
		if (strcmp(argv[1], kinds[i].name) == 0)
			kinds[i].run();
	in_pause();
}
