/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork_step.c - stops a thread inside the agent, after each of its locked
 * instructions and at other points, and lets another thread fork there, and the
 * child allocate, free, dump and exit; or lets the other thread dump.
 *
 *	fork_step PRELOAD LIBRARY fork|dump COUNT
 *
 * We trace one thread of the victim (the program itself, started again under
 * the agent), instruction by instruction; the thread that forks is not traced.
 * The idea is the fork torture test of gperftools. Prints how often that was
 * and how often it went well; where the thread stood, if not.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* Descriptors of the victim. */
#define ORDERS 100
#define ANSWERS 101

#define CHILD_SECONDS 10
#define STEPS_MAX 20000000UL
/* Of the instructions that are not locked, one in so many. */
#define OTHER_POINTS 401

/* --- the victim */

static void *volatile child_held[5];

static __attribute__((noinline)) void
child_take(int index)
{
	child_held[index] = malloc(777);
	if (child_held[index] == NULL)
		_exit(98);
}

static __attribute__((noinline)) void
child(void)
{
	alarm(CHILD_SECONDS);
	for (int i = 0; i < 5; i++)
		child_take(i);
	for (size_t i = 0; i < 300; i++) {
		void *volatile p = malloc(i * 10);

		p = realloc(p, i * 11 + 1);
		free(p);
	}
	raise(SIGUSR2);
	_exit(0);
}

/* A stack of its own for each path, so that new ones are always entered. */
static __attribute__((noinline)) void *
take_by_path(unsigned path, int level)
{
	void *volatile p;

	if (level == 0)
		return malloc(100 + path % 3000);
	if (path >> level & 1)
		p = take_by_path(path, level - 1);
	else
		p = take_by_path(path ^ 1, level - 1);
	return p;
}

static void
open_and_close(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW);

	if (handle == NULL || dlclose(handle) != 0)
		abort();
}

static void *
allocate(void *library)
{
	void *slots[50] = { 0 };
	unsigned path = 0;
	pid_t tid = (pid_t)syscall(SYS_gettid);

	if (write(ANSWERS, &tid, sizeof(tid)) != sizeof(tid))
		abort();
	for (;;) {
		unsigned i = path % 50;

		if (path % 3 == 0) {
			slots[i] = realloc(slots[i], 50 + path % 999);
		} else {
			free(slots[i]);
			slots[i] = take_by_path(path, (int)(path / 7 % 20));
		}
		/* The loader is long: rarely. */
		if (path++ % 64 == 3)
			open_and_close(library);
	}
	return NULL;
}

static int
fork_and_wait(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		child();
	return waitpid(pid, &status, 0) == pid ? status : -2;
}

static int
victim(char *library)
{
	pthread_t thread;
	char order;

	pthread_create(&thread, NULL, allocate, library);
	while (read(ORDERS, &order, 1) == 1) {
		int status;

		if (order == 'f')
			status = fork_and_wait();
		else
			status = raise(SIGUSR2);
		if (write(ANSWERS, &status, sizeof(status)) != sizeof(status))
			return 1;
	}
	return 0;
}

/* --- the tracer */

static int orders, answers;
static uintptr_t agent_start, agent_end;
static int times, good;

static pid_t
start_victim(char *self, const char *preload, const char *library)
{
	int down[2], up[2];
	pid_t pid;

	if (pipe(down) != 0 || pipe(up) != 0)
		abort();
	orders = down[1];
	answers = up[0];
	pid = fork();
	if (pid != 0) {
		close(down[0]);
		close(up[1]);
		return pid;
	}
	dup2(down[0], ORDERS);
	dup2(up[1], ANSWERS);
	close(down[1]);
	close(up[0]);
	setenv("LD_PRELOAD", preload, 1);
	execl(self, self, "victim", library, NULL);
	_exit(127);
}

static void
find_agent(pid_t pid)
{
	char path[64], line[512];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "r");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strstr(line, "r-xp") != NULL &&
		    strstr(line, "/libheapagent.so") != NULL)
			sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &agent_start,
			       &agent_end);
	fclose(file);
}

/* A LOCK prefix, or an exchange with memory, which is locked without one. */
static bool
is_locked(pid_t tid, uintptr_t ip)
{
	long word = ptrace(PTRACE_PEEKTEXT, tid, ip, NULL);
	unsigned char code[8];
	int i = 0;

	memcpy(code, &word, sizeof(code));
	if (code[i] == 0x66)
		i++;
	if (code[i] == 0xf0)
		return true;
	if ((code[i] & 0xf0) == 0x40)
		i++;
	return (code[i] == 0x86 || code[i] == 0x87) && code[i + 1] < 0xc0;
}

static void
order_here(const char *order, uintptr_t ip)
{
	int status = -3;

	if (write(orders, order, 1) != 1 ||
	    read(answers, &status, sizeof(status)) != sizeof(status))
		status = -4;
	times++;
	good += status == 0;
	if (status != 0)
		printf("status %#x, thread at libheapagent.so+%#" PRIxPTR "\n",
		       (unsigned)status, ip - agent_start);
}

/* One step; false if the thread is gone. Signals of its own are passed on. */
static bool
step(pid_t tid)
{
	int status, signal = 0;

	do {
		if (ptrace(PTRACE_SINGLESTEP, tid, NULL, (long)signal) != 0 ||
		    waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
			return false;
		signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	} while (signal != 0);
	return true;
}

static void
step_and_order(pid_t tid, const char *order, int count)
{
	unsigned long inside = 0;

	for (unsigned long i = 0; i < STEPS_MAX && times < count; i++) {
		struct user_regs_struct registers;
		uintptr_t ip;
		bool locked;

		ptrace(PTRACE_GETREGS, tid, NULL, &registers);
		ip = registers.rip;
		if (ip < agent_start || ip >= agent_end) {
			if (!step(tid))
				return;
			continue;
		}
		locked = is_locked(tid, ip);
		if (!step(tid))
			return;
		ptrace(PTRACE_GETREGS, tid, NULL, &registers);
		if (registers.rip < agent_start || registers.rip >= agent_end)
			continue;
		if (locked || ++inside % OTHER_POINTS == 0)
			order_here(order, registers.rip);
	}
}

int
main(int argc, char **argv)
{
	pid_t pid, tid = 0;
	int status;

	if (argc == 3 && strcmp(argv[1], "victim") == 0)
		return victim(argv[2]);
	if (argc != 5)
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	pid = start_victim(argv[0], argv[1], argv[2]);
	if (read(answers, &tid, sizeof(tid)) != sizeof(tid))
		return 1;
	find_agent(pid);
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0 ||
	    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 ||
	    waitpid(tid, &status, __WALL) != tid)
		return 1;
	step_and_order(tid, argv[3], atoi(argv[4]));
	printf("%d times, %d good\n", times, good);
	/* The last dump may still run, and would miss the threads. */
	sleep(1);
	kill(pid, SIGKILL);
	waitpid(tid, &status, __WALL);
	waitpid(pid, &status, 0);
	return times == good ? 0 : 1;
}
