/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_sandbox.c - threads of it enter a filter that knows neither gettid nor
 * restart_syscall, and sleep or run, while dumps are asked for:
 *
 *	thread_sandbox libc|own	by prctl(), in the middle of the dump, or
 *				before, with code of its own
 *
 * Prints "unhurt". Asks for none without HEAPAGENT_DIR.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS 8
#define LOOPS 400000L
#define ALLOW(nr) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int past_libc;

static long
control(long option, long a, const void *b)
{
	long r;
	register long zero __asm__("r10") = 0;

	if (!past_libc)
		return prctl((int)option, a, b, 0, 0);
	__asm__ volatile("xor %%r8d, %%r8d; syscall"
			 : "=a"(r)
			 : "a"(SYS_prctl), "D"(option), "S"(a), "d"(b),
			   "r"(zero)
			 : "rcx", "r8", "r11", "memory");
	return r;
}

static void
enter_sandbox(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_write),
		ALLOW(SYS_exit),
		ALLOW(SYS_rt_sigreturn),
		ALLOW(SYS_rt_sigprocmask),
		ALLOW(SYS_nanosleep),
		ALLOW(SYS_futex),
		ALLOW(SYS_madvise),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (control(PR_SET_NO_NEW_PRIVS, 1, NULL) != 0 ||
	    control(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(77);
}

static void
run(long loops)
{
	for (volatile long n = 0; n < loops; n++)
		;
}

static void *
thread_main(void *argument)
{
	long number = (long)argument;

	if (!past_libc)
		run(number * LOOPS);
	enter_sandbox();
	for (unsigned i = 0; i < 10; i++) {
		struct timespec pause = { 0, 4000000 };

		if (number % 2 == 0)
			(void)syscall(SYS_nanosleep, &pause, NULL);
		else
			run(10 * LOOPS);
	}
	(void)syscall(SYS_exit, 0);
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	struct timespec pause = { 0, 5000000 };

	past_libc = argc > 1 && strcmp(argv[1], "own") == 0;
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread_main, (void *)i))
			return 2;
	for (unsigned i = 0; i < 3 && getenv("HEAPAGENT_DIR") != NULL; i++) {
		if (past_libc)
			(void)nanosleep(&pause, NULL);
		(void)kill(getpid(), SIGUSR2);
	}
	for (unsigned i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	return write(1, "unhurt\n", 7) == 7 ? 0 : 1;
}
