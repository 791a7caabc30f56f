/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strict.c - allocates under a sandbox that kills for every system call that
 * sampling could think of.
 *
 *	strict mode|filter main|thread|fork|early
 *
 * The sandbox is seccomp's strict mode (read, write, exit and rt_sigreturn), or
 * a filter that permits no more. What allocates in it is main(), a thread that
 * was waiting, or a forked child; with "early" a thread that has never
 * allocated before. It is done from within a library, too, that was there from
 * the start and that no sample has met before. The blocks are from memory that
 * malloc has already. Prints "unhurt".
 */
/* LIBS: -lz */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#define BLOCKS 2000

static void *blocks[BLOCKS];
static const char *kind;
static int go[2];

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
	int r;

	if (strcmp(kind, "mode") == 0)
		r = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	else
		r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
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
	if (argc != 3)
		return 2;
	kind = argv[1];
	/* One arena: a thread's first block needs no call of malloc's. */
	mallopt(M_ARENA_MAX, 1);
	/* What is freed stays with malloc: nothing is given back. */
	allocate(100);
	if (strcmp(argv[2], "fork") == 0)
		return use_child();
	if (strcmp(argv[2], "main") == 0) {
		allocate_in_sandbox();
		end(0);
	}
	use_thread(argv[2]);
	return 0;
}
