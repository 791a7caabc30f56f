/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strict.c - allocates under a sandbox that kills for every system call that
 * sampling could think of.
 *
 *	strict mode|filter main|thread|fork|early|many|foreign|dumped [unseen]
 *
 * The sandbox is seccomp's strict mode (read, write, exit and rt_sigreturn), or
 * a filter that permits no more. What allocates in it is main(), a thread that
 * was waiting, or a forked child; with "early" a thread that has never
 * allocated before. It is done from within a library, too, that was there from
 * the start and that no sample has met before. With "many" main() holds
 * 100,000 blocks, with "foreign" it allocates on a stack that it made itself,
 * with "dumped" children do that are forked while dumps are made.
 * The blocks are from memory that malloc has already. "unseen" enters the
 * sandbox by an instruction of the program's own, not through libc. Prints
 * "unhurt".
 */
/* LIBS: -lz */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <zlib.h>

#define BLOCKS 2000
#define MANY 100000

static void *blocks[BLOCKS];
static void *many[MANY];
static const char *kind;
static int unseen;
static volatile int enough;
static int go[2];

static long
set_seccomp(long mode, struct sock_fprog *program)
{
	register long none __asm__("r10") = 0;
	long result;

	if (!unseen)
		return prctl(PR_SET_SECCOMP, mode, program, 0, 0);
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_prctl), "D"(PR_SET_SECCOMP), "S"(mode),
			   "d"(program), "r"(none)
			 : "rcx", "r11", "memory");
	return result;
}

static void
enter_sandbox(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	long r;

	if (strcmp(kind, "mode") == 0)
		r = set_seccomp(SECCOMP_MODE_STRICT, NULL);
	else
		r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    set_seccomp(SECCOMP_MODE_FILTER, &program);
	if (r != 0)
		_exit(77);
}

static __attribute__((noinline)) void
allocate(unsigned depth)
{
	char filler[1000];

	memset(filler, (int)depth, sizeof(filler));
	if (depth > 0) {
		allocate(depth - 1);
	} else {
		for (unsigned i = 0; i < BLOCKS; i++)
			blocks[i] = malloc(20 + i % 50);
		for (unsigned i = 0; i < BLOCKS; i++)
			free(blocks[i]);
	}
	__asm__ volatile("" : : "r"(filler) : "memory");
}

static void
end(int status)
{
	/* exit_group() is not on the list. */
	(void)syscall(SYS_exit, status);
}

/* What zlib calls for memory. */
static void *
allocate_for(void *unused, unsigned count, unsigned size)
{
	static char memory[1 << 20];
	static size_t used;
	char *start = memory + used;

	(void)unused;
	allocate(0);
	used += ((size_t)count * size + 15) & ~(size_t)15;
	return used <= sizeof(memory) ? start : NULL;
}

static void
allocate_in_library(void)
{
	z_stream stream = { .zalloc = allocate_for };

	(void)deflateInit(&stream, 1);
}

static void
allocate_in_sandbox(void)
{
	enter_sandbox();
	for (unsigned depth = 0; depth < 200; depth += 66)
		allocate(depth);
	allocate_in_library();
	if (write(1, "unhurt\n", 7) != 7)
		end(1);
	end(0);
}

static void *
in_thread(void *argument)
{
	char byte;

	if (strcmp(argument, "early") != 0)
		allocate(0);
	if (write(go[1], "r", 1) != 1 || read(go[0], &byte, 1) != 1)
		_exit(2);
	allocate_in_sandbox();
	end(0);
	return NULL;
}

static void
use_thread(char *how)
{
	pthread_t thread;

	if (pipe(go) != 0 || pthread_create(&thread, NULL, in_thread, how) != 0)
		_exit(2);
	(void)pthread_join(thread, NULL);
}

static void *
ask_for_dumps(void *unused)
{
	while (!enough) {
		kill(getpid(), SIGUSR2);
		usleep(300);
	}
	return unused;
}

/* Children that are forked while a dump is being made, if one is asked for. */
static int
use_children(void)
{
	sigset_t set;
	struct sigaction old;
	pthread_t thread;
	int status = 0, hurt = 0;

	sigaction(SIGUSR2, NULL, &old);
	if (old.sa_handler == SIG_DFL)
		signal(SIGUSR2, SIG_IGN);
	if (pthread_create(&thread, NULL, ask_for_dumps, NULL) != 0)
		return 2;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (unsigned i = 0; i < 20; i++) {
		pid_t child = fork();

		if (child == 0) {
			enter_sandbox();
			allocate(0);
			end(0);
		}
		hurt += waitpid(child, &status, 0) != child || status != 0;
		usleep(i * 100);
	}
	enough = 1;
	(void)pthread_join(thread, NULL);
	return hurt == 0 && write(1, "unhurt\n", 7) == 7 ? 0 : 1;
}

/* More than the agent has memory for from the start. */
static void
allocate_many(void)
{
	/* All that is asked for later, in one block first. */
	mallopt(M_MMAP_THRESHOLD, 1 << 24);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	many[0] = malloc((size_t)64 * MANY);
	__asm__ volatile("" : : : "memory");
	free(many[0]);
	enter_sandbox();
	for (unsigned i = 0; i < MANY; i++)
		many[i] = malloc(24);
	__asm__ volatile("" : : "r"(many) : "memory");
	for (unsigned i = 0; i < MANY; i++)
		free(many[i]);
	if (write(1, "unhurt\n", 7) != 7)
		end(1);
	end(0);
}

/* Room for allocate(200) on a stack that is no thread's own. */
static void
allocate_on_foreign(void)
{
	static char stack[1 << 20];
	static ucontext_t here, there;

	(void)getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	makecontext(&there, allocate_in_sandbox, 0);
	(void)swapcontext(&here, &there);
}

static int
use_child(void)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		allocate_in_sandbox();
		end(0);
	}
	return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

int
main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	kind = argv[1];
	unseen = argc > 3 && strcmp(argv[3], "unseen") == 0;
	/* One arena: a thread's first block needs no call of malloc's. */
	mallopt(M_ARENA_MAX, 1);
	/* What is freed stays with malloc: nothing is given back. */
	allocate(100);
	if (strcmp(argv[2], "fork") == 0)
		return use_child();
	if (strcmp(argv[2], "dumped") == 0)
		return use_children();
	if (strcmp(argv[2], "many") == 0)
		allocate_many();
	/* It ends there: to come back takes a call that kills. */
	if (strcmp(argv[2], "foreign") == 0)
		allocate_on_foreign();
	if (strcmp(argv[2], "main") == 0) {
		allocate_in_sandbox();
		end(0);
	}
	use_thread(argv[2]);
	return 0;
}
