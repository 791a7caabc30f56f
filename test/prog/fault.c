/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.c - `fault CALL ERRNO NUMBER command...`: runs the command, and lets
 * the NUMBER-th system call CALL fail with ERRNO that the agent makes in it, or
 * in its children. The program's own calls are not counted and not touched.
 * NUMBER 0 fails none. What is left of standard error, descriptor 9, gets one
 * line: how many such calls there were. Exits as the command does.
 *
 * A seccomp filter asks this process about each call (seccomp_unotify(2)); the
 * address that the call comes from tells whose it is.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPORT_FD 9

static const struct {
	const char *name;
	int nr;
} calls[] = {
	{ "mmap", SYS_mmap },
	{ "mprotect", SYS_mprotect },
	{ "madvise", SYS_madvise },
	{ "openat", SYS_openat },
	{ "read", SYS_read },
	{ "write", SYS_write },
	{ "fchmod", SYS_fchmod },
	{ "renameat2", SYS_renameat2 },
	{ "linkat", SYS_linkat },
	{ "newfstatat", SYS_newfstatat },
	{ "fstat", SYS_fstat },
	{ "getdents64", SYS_getdents64 },
	{ "readlinkat", SYS_readlinkat },
	{ "faccessat", SYS_faccessat },
	{ "clone", SYS_clone },
	{ "wait4", SYS_wait4 },
	{ "futex", SYS_futex },
	{ "ptrace", SYS_ptrace },
	{ "prctl", SYS_prctl },
	{ "rt_sigaction", SYS_rt_sigaction },
	{ "rt_sigprocmask", SYS_rt_sigprocmask },
	{ "rt_sigpending", SYS_rt_sigpending },
	{ "sigaltstack", SYS_sigaltstack },
	{ "close_range", SYS_close_range },
	{ "prlimit64", SYS_prlimit64 },
	{ "getrandom", SYS_getrandom },
	{ "nanosleep", SYS_nanosleep },
	{ "ppoll", SYS_ppoll },
	{ "tgkill", SYS_tgkill },
};

static void
die(const char *what)
{
	perror(what);
	exit(125);
}

/* A filter that asks about call nr; the descriptor to answer on. */
static int
install(int nr)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_GET_SECCOMP, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 7, filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		die("prctl");
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* True if the address lies in the agent of that process. */
static bool
is_of_agent(unsigned pid, uint64_t address)
{
	char path[64], line[4352];
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		uint64_t start, end;

		found = strstr(line, "/libheapagent.so") &&
			sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) ==
				2 &&
			address >= start && address < end;
	}
	if (maps)
		fclose(maps);
	return found;
}

/* Answers until no process is left that could ask. */
static unsigned
supervise(int listener, int nr, unsigned number, int error)
{
	struct pollfd ready = { listener, POLLIN, 0 };
	unsigned seen = 0;

	for (;;) {
		struct seccomp_notif request = { 0 };
		struct seccomp_notif_resp answer = {
			.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE,
		};

		if (poll(&ready, 1, -1) < 0)
			die("poll");
		if (ready.revents & POLLHUP)
			return seen;
		/* ENOENT: a signal took it back meanwhile. */
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0)
			continue;
		/* Under a filter the agent does less: it shall not know. */
		if (request.data.nr == SYS_prctl &&
		    request.data.args[0] == PR_GET_SECCOMP)
			answer.flags = 0;
		if (request.data.nr == nr &&
		    is_of_agent(request.pid,
				request.data.instruction_pointer) &&
		    ++seen == number) {
			answer.flags = 0;
			answer.error = -error;
		}
		answer.id = request.id;
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

static int
number_of(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].nr;
	fprintf(stderr, "fault: no call '%s' in the table\n", name);
	exit(125);
}

/* The child under the filter; it goes on when *shared is -1 again. */
static void
run(int nr, atomic_int *shared, char **command)
{
	int listener = install(nr);

	if (listener < 0)
		die("seccomp");
	*shared = listener;
	while (*shared != -1)
		sched_yield();
	execvp(command[0], command);
	_exit(127);
}

int
main(int argc, char **argv)
{
	atomic_int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int nr, listener, pidfd, status;
	unsigned seen;
	pid_t pid;

	if (argc < 5)
		return 125;
	nr = number_of(argv[1]);
	*shared = -1;
	pid = fork();
	if (pid == 0)
		run(nr, shared, argv + 4);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	while ((listener = *shared) == -1)
		if (waitpid(pid, &status, WNOHANG) == pid)
			return 125;
	listener = (int)syscall(SYS_pidfd_getfd, pidfd, listener, 0);
	if (listener < 0)
		die("pidfd_getfd");
	unsetenv("LD_PRELOAD");
	*shared = -1;
	seen = supervise(listener, nr, (unsigned)atoi(argv[3]), atoi(argv[2]));
	dprintf(REPORT_FD, "%u\n", seen);
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
