/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - puts itself under a seccomp filter and goes on allocating, from
 * stacks and threads that are new to the agent. The first argument is what the
 * filter does to a system call that is not on its list: kill, errno or trap;
 * the second what it is asked on top:
 *
 *	quiet	no dump is asked for: the list is what malloc needs itself
 *	signal	one is asked for before, and one after
 *	fork	a child allocates too
 *
 * Prints "unhurt".
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLS_MAX 64

/* What glibc's malloc, its threads and the end of the program need. */
static const int always[] = {
	SYS_mmap,
	SYS_munmap,
	SYS_mprotect,
	SYS_brk,
	SYS_mremap,
	SYS_madvise,
	SYS_futex,
	SYS_exit,
	SYS_exit_group,
	SYS_write,
	SYS_clone,
	SYS_clone3,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_rt_sigreturn,
	SYS_rt_sigprocmask,
	SYS_restart_syscall,
};
/* What it takes to ask for a dump. That it is refused takes nothing. */
static const int for_signal[] = { SYS_kill, SYS_clock_nanosleep };
static const int for_fork[] = { SYS_wait4, SYS_kill, SYS_getpid };

static struct sock_filter filter[2 * CALLS_MAX + 8];
static unsigned short filter_length;
static void *volatile keep;
static pid_t pid;

static void
emit(unsigned short code, unsigned k, unsigned char yes, unsigned char no)
{
	filter[filter_length++] =
		(struct sock_filter)BPF_JUMP(code, k, yes, no);
}

static void
allow(const int *calls, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		emit(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
		emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	}
}

#define ALLOW(calls) allow(calls, sizeof(calls) / sizeof((calls)[0]))

static void
enter_sandbox(const char *action, const char *what)
{
	struct sock_fprog program = { .filter = filter };
	unsigned otherwise = SECCOMP_RET_KILL_PROCESS;

	if (strcmp(action, "errno") == 0)
		otherwise = SECCOMP_RET_ERRNO | EPERM;
	if (strcmp(action, "trap") == 0)
		otherwise = SECCOMP_RET_TRAP;
	emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	ALLOW(always);
	if (strcmp(what, "signal") == 0)
		ALLOW(for_signal);
	if (strcmp(what, "fork") == 0)
		ALLOW(for_fork);
	emit(BPF_RET | BPF_K, otherwise, 0, 0);
	program.len = filter_length;
	/* As libseccomp does it, and as programs do it themselves. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    (getenv("BY_SYSCALL") != NULL
		     ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0,
			       &program) != 0
		     : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0,
			     0) != 0))
		exit(77);
}

/* A stack as deep as asked for, in which every level allocates. */
static __attribute__((noinline)) void
descend(unsigned depth)
{
	char filler[2000];

	memset(filler, (int)depth, sizeof(filler));
	keep = malloc(1000 + depth);
	free(keep);
	if (depth > 0)
		descend(depth - 1);
	__asm__ volatile("" : : "r"(filler) : "memory");
}

static void *
thread_main(void *argument)
{
	descend(50);
	return argument;
}

static void
allocate_everywhere(void)
{
	pthread_t threads[4];

	/* 400 KiB of stack that was never used before. */
	descend(200);
	for (unsigned i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, thread_main, NULL) != 0)
			_exit(3);
	for (unsigned i = 0; i < 4; i++)
		(void)pthread_join(threads[i], NULL);
	keep = realloc(malloc(1000000), 30000000);
	free(keep);
}

static void
ask_for_dump(void)
{
	struct timespec pause = { 0, 200000000 };

	kill(pid, SIGUSR2);
	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static void
fork_and_allocate(void)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		allocate_everywhere();
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		_exit(4);
}

int
main(int argc, char **argv)
{
	const char *action = argc > 1 ? argv[1] : "kill";
	const char *what = argc > 2 ? argv[2] : "quiet";
	pthread_t thread;

	pid = getpid();
	/* The loader and libc have set up what threads need. */
	if (pthread_create(&thread, NULL, thread_main, NULL) != 0)
		return 2;
	(void)pthread_join(thread, NULL);
	if (strcmp(what, "signal") == 0)
		ask_for_dump();
	enter_sandbox(action, what);
	allocate_everywhere();
	if (strcmp(what, "signal") == 0)
		ask_for_dump();
	if (strcmp(what, "fork") == 0)
		fork_and_allocate();
	allocate_everywhere();
	return write(1, "unhurt\n", 7) == 7 ? 0 : 1;
}
