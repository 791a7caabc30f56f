/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_host.c - `dump_host CASE`: a host that makes a dump difficult, asks for
 * one, and exits with 0 if it was not harmed. The cases are functions below.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			printf("line %d: %s\n", __LINE__, #condition); \
			exit(1); \
		} \
	} while (0)

static void
ask(void)
{
	CHECK(kill(getpid(), SIGUSR2) == 0);
}

static void
sleep_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) != 0)
		;
}

static bool
has_children(void)
{
	siginfo_t info;
	int subreaper = 0;

	/* Who adopts orphans keeps what is left of the last dump's child until
	 * the next; nobody but __WALL shows it. */
	(void)prctl(PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0);
	return waitid(P_ALL, 0, &info,
		      WEXITED | WNOHANG | WNOWAIT |
			      (subreaper || getpid() == 1 ? 0 : __WALL)) == 0;
}

/* Ends at once: the dump goes on without it. */
static int
at_once(void)
{
	ask();
	_exit(0);
}

/* Blocks the signal for a while: it comes when it is let in. */
static int
blocked(void)
{
	sigset_t set, pending;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	ask();
	sigpending(&pending);
	CHECK(sigismember(&pending, SIGUSR2));
	puts("blocked");
	fflush(stdout);
	sleep_ms(300);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return 0;
}

static volatile sig_atomic_t own_calls;

static void
own_handler(int nr)
{
	(void)nr;
	own_calls++;
}

/* Has a handler of its own for the signal. */
static int
own(void)
{
	signal(SIGUSR2, own_handler);
	ask();
	CHECK(own_calls == 1);
	return 0;
}

/* A child of fork() dumps under its own name, and so does the parent. */
static int
forks(void)
{
	int status;
	pid_t pid;

	ask();
	pid = fork();
	if (pid == 0) {
		ask();
		_exit(7);
	}
	ask();
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	printf("%d\n", (int)pid);
	return 0;
}

/* Its children end while its dumps run: they do not wait for these. */
static int
children_end(void)
{
	for (int i = 0; i < 50; i++) {
		struct timespec begin, end;
		int status;
		pid_t pid;

		clock_gettime(CLOCK_MONOTONIC, &begin);
		ask();
		pid = fork();
		if (pid == 0)
			exit(3);
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
		clock_gettime(CLOCK_MONOTONIC, &end);
		/* The agent waits 10 s for a dump of its own process. */
		CHECK(end.tv_sec - begin.tv_sec < 8);
	}
	return 0;
}

/* Orphans come back to it: it must not find one it does not know. */
static int
subreaper(void)
{
	CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
	ask();
	CHECK(!has_children());
	ask();
	CHECK(!has_children());
	return 0;
}

/* Its first child opens a new PID namespace. */
static int
new_pid_namespace(void)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID) != 0)
		return errno == EPERM ? 77 : 1;
	ask();
	sleep_ms(100);
	pid = fork();
	CHECK(pid > 0 || (pid == 0 && getpid() == 1));
	if (pid == 0) {
		pid = fork();
		CHECK(pid >= 0);
		if (pid == 0)
			_exit(0);
		CHECK(waitpid(pid, &status, 0) == pid);
		_exit(9);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9);
	return 0;
}

static volatile int stop_waiting;

static void *
wait_for_all(void *argument)
{
	(void)argument;
	while (!stop_waiting)
		(void)waitpid(-1, NULL, __WALL);
	return NULL;
}

/* Another thread reaps whatever there is. */
static int
reaps_all(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, wait_for_all, NULL);
	for (int i = 0; i < 20; i++) {
		ask();
		sleep_ms(10);
	}
	stop_waiting = 1;
	pthread_join(thread, NULL);
	return 0;
}

/* Puts itself in a sandbox that ends it for clone and ptrace. */
static int
sandbox(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(filter[0]),
		.filter = filter,
	};

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	ask();
	ask();
	return 0;
}

/* What the kernel's frame takes: before Linux 5.14 none says so. */
static size_t
frame_bytes(void)
{
	size_t said = getauxval(AT_MINSIGSTKSZ);
	unsigned a = 0xd, states, c = 0, d;

	if (said != 0)
		return said;
	/* The enabled states' size; registers and siginfo besides. */
	__asm__("cpuid" : "+a"(a), "=b"(states), "+c"(c), "=d"(d));
	return states + 1024 > MINSIGSTKSZ ? states + 1024 : MINSIGSTKSZ;
}

/* The handler gets an alternate stack that hardly holds the kernel's frame. */
static int
small_stack(void)
{
	const size_t page = 4096;
	/* What our handler may use of it. */
	size_t size = frame_bytes() + 512;
	size_t mapped = (size + page - 1) / page * page;
	char *base = mmap(NULL, mapped + page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack;

	CHECK(base != MAP_FAILED);
	CHECK(mprotect(base, page, PROT_NONE) == 0);
	/* What lies below the stack must stay as it is. */
	memset(base + page, 0x5a, mapped - size);
	stack = (stack_t){ .ss_sp = base + page + mapped - size,
			   .ss_size = size };
	CHECK(sigaltstack(&stack, NULL) == 0);
	ask();
	for (size_t i = 0; i < mapped - size; i++)
		CHECK(base[page + i] == 0x5a);
	return 0;
}

/* Starts programs while it is asked; their results are as always. */
static int
spawns(void)
{
	char name[] = "sh", option[] = "-c", script[] = "exit 5";
	char *const arguments[] = { name, option, script, NULL };

	for (int i = 0; i < 30; i++) {
		int status;
		pid_t pid;

		ask();
		CHECK(posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments,
				  environ) == 0);
		ask();
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
	}
	CHECK(!has_children());
	return 0;
}

/* Finds its errno, mask and descriptors as they were. */
static int
unchanged(void)
{
	sigset_t before, after;
	int fd, next;

	sigemptyset(&before);
	sigaddset(&before, SIGALRM);
	sigprocmask(SIG_SETMASK, &before, NULL);
	fd = dup(1);
	close(fd);
	errno = ENOTTY;
	ask();
	CHECK(errno == ENOTTY);
	sigprocmask(SIG_SETMASK, NULL, &after);
	CHECK(memcmp(&before, &after, 8) == 0);
	next = dup(1);
	CHECK(next == fd);
	CHECK(!has_children());
	return 0;
}

/* A file of its dump's first name is there already. */
static int
name_taken(void)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/dump_host.%d.0001.heap.pb.gz",
		 getenv("HEAPAGENT_DIR"), (int)getpid());
	file = fopen(path, "w");
	CHECK(file != NULL);
	CHECK(fputs("mine", file) > 0);
	fclose(file);
	ask();
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} cases[] = {
	{ "at_once", at_once },
	{ "blocked", blocked },
	{ "own", own },
	{ "forks", forks },
	{ "children_end", children_end },
	{ "subreaper", subreaper },
	{ "new_pid_namespace", new_pid_namespace },
	{ "reaps_all", reaps_all },
	{ "sandbox", sandbox },
	{ "small_stack", small_stack },
	{ "spawns", spawns },
	{ "unchanged", unchanged },
	{ "name_taken", name_taken },
};

int
main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (argc == 2 && strcmp(argv[1], cases[i].name) == 0)
			return cases[i].run();
	return 2;
}
