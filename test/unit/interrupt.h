/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt.h - signals that come to the main thread while it waits, and to a
 * child before each instruction of a range.
 */
#ifndef HEAPAGENT_TEST_INTERRUPT_H
#define HEAPAGENT_TEST_INTERRUPT_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys.h"

#define NS_PER_MS UINT64_C(1000000)

/* Of signals of the host. */
static atomic_int host_handled;

static inline void
on_hosts(int nr)
{
	(void)nr;
	host_handled++;
}

/* SIGUSR1 is ours, SIGUSR2 the host's. */
static inline void
install_handlers(void (*on_ours)(int nr, siginfo_t *info, void *context))
{
	struct sigaction ours = { .sa_sigaction = on_ours,
				  .sa_flags = SA_SIGINFO | SA_RESTART |
					      SA_ONSTACK };
	struct sigaction hosts = { .sa_handler = on_hosts };

	sigfillset(&ours.sa_mask);
	sigaction(SIGUSR1, &ours, NULL);
	sigaction(SIGUSR2, &hosts, NULL);
	host_handled = 0;
}

/* Until the first thread of the process has been blocked for some ms, or has
 * ended. */
static inline void
await_blocked(pid_t pid)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, pid);
	for (int seen = 0; seen < 5; seen++) {
		const char *state;

		sys_sleep_ns(NS_PER_MS);
		/* "4711 (name) S ..." */
		if (sys_read_file(path, text, sizeof(text)) <= 0 ||
		    (state = strrchr(text, ')')) == NULL || state[2] == 'Z')
			return;
		if (state[2] != 'S')
			seen = -1;
	}
}

struct plan {
	int count;     /* of SIGUSR1 */
	bool is_storm; /* whatever the thread does; else when it is blocked */
	int last;      /* a signal that comes after those; 0: none */
	void (*then)(void); /* NULL: nothing */
	/* Set by begin(). */
	pthread_t thread, target;
	atomic_bool stop;
};

static inline void *
plan_carry_out(void *argument)
{
	struct plan *plan = argument;

	await_blocked(getpid());
	for (int i = 0; i < plan->count && !plan->stop; i++) {
		pthread_kill(plan->target, SIGUSR1);
		if (!plan->is_storm)
			await_blocked(getpid());
	}
	if (plan->last != 0)
		pthread_kill(plan->target, plan->last);
	if (plan->then != NULL)
		plan->then();
	return NULL;
}

/* Signals to the process are for the main thread. */
static inline void
begin(struct plan *plan)
{
	sigset_t all, before;

	plan->target = pthread_self();
	plan->stop = false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_create(&plan->thread, NULL, plan_carry_out, plan);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static inline void
end(struct plan *plan)
{
	plan->stop = true;
	pthread_join(plan->thread, NULL);
}

/* Code, its last instruction included. */
struct range {
	uintptr_t first, last;
};

static inline bool
range_holds(struct range range, uintptr_t ip)
{
	return ip >= range.first && ip <= range.last;
}

/* Steps to the instruction number `at` that runs in the range: its ip, 0 if
 * the child ended. */
static inline uintptr_t
step_to(pid_t pid, struct range range, int at)
{
	struct user_regs_struct regs;
	int status, seen = 0;

	for (;;) {
		ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return 0;
		ptrace(PTRACE_GETREGS, pid, NULL, &regs);
		if (range_holds(range, regs.rip) && seen++ == at)
			return regs.rip;
	}
}

/*
 * Runs body in a child until it waits, sends it SIGUSR1, and once more before
 * that instruction of the handler's end. The child's status; -1 if it ended
 * before. *was_last: whether it was the last of the range.
 */
static inline int
interrupted_at(int (*body)(void), struct range range, int at, bool *was_last)
{
	pid_t pid = fork();
	uintptr_t ip;
	int status;

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(body());
	}
	waitpid(pid, &status, 0);
	/* Into the call, and a signal from there. */
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	await_blocked(pid);
	kill(pid, SIGUSR1);
	waitpid(pid, &status, 0);
	ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(long)SIGUSR1);
	waitpid(pid, &status, 0);
	ip = step_to(pid, range, at);
	*was_last = ip == range.last;
	if (ip == 0)
		return -1;
	/* Handed over once; while it is blocked it stops the child again. */
	ptrace(PTRACE_CONT, pid, NULL, (void *)(long)SIGUSR1);
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, NULL, (void *)(long)WSTOPSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

#endif
