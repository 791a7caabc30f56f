/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refuse.c - `refuse ptrace|pidfd_getfd|close_range|clone|kill command...` runs
 * the command under a filter that answers EPERM to what the agent would like to
 * do, as containers' filters do; with "kill" it ends the program for each call
 * of a list that few programs make, as systemd's filters do.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define EQUAL(value, yes, no) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define ANY_BIT(value, yes, no) \
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (value), (yes), (no))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))

#define REFUSED 1 /* which instruction says what is refused */
static struct sock_filter one_call[] = {
	LOAD(nr),
	[REFUSED] = EQUAL(SYS_ptrace, 0, 1),
	RETURN(SECCOMP_RET_ERRNO | EPERM),
	RETURN(SECCOMP_RET_ALLOW),
};

/* Threads share signal handlers, fork() shares no memory: only a process that
 * shares memory is refused. */
static struct sock_filter no_clone[] = {
	LOAD(nr),
	EQUAL(SYS_clone, 0, 4),
	LOAD(args[0]),
	ANY_BIT(CLONE_THREAD | CLONE_VFORK, 2, 0),
	ANY_BIT(CLONE_VM, 0, 1),
	RETURN(SECCOMP_RET_ERRNO | EPERM),
	RETURN(SECCOMP_RET_ALLOW),
};

/* The first four are in none of the sets of systemd's @system-service. */
static const unsigned rare[] = {
	SYS_ptrace,	 SYS_perf_event_open,	SYS_process_vm_readv,
	SYS_kcmp,	 SYS_pidfd_open,	SYS_pidfd_getfd,
	SYS_close_range, 449 /* futex_waitv */, SYS_restart_syscall,
};

static struct sock_filter kill_rare[2 * sizeof(rare) / sizeof(rare[0]) + 2] = {
	LOAD(nr),
};

static unsigned short
make_kill_rare(void)
{
	unsigned short length = 1;

	for (unsigned i = 0; i < sizeof(rare) / sizeof(rare[0]); i++) {
		struct sock_filter equal = EQUAL(rare[i], 0, 1);
		struct sock_filter end = RETURN(SECCOMP_RET_KILL_PROCESS);

		kill_rare[length++] = equal;
		kill_rare[length++] = end;
	}
	kill_rare[length++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	return length;
}

int
main(int argc, char **argv)
{
	struct sock_fprog program = { .len = 4, .filter = one_call };

	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "clone") == 0) {
		program.len = sizeof(no_clone) / sizeof(no_clone[0]);
		program.filter = no_clone;
	} else if (strcmp(argv[1], "pidfd_getfd") == 0) {
		one_call[REFUSED].k = SYS_pidfd_getfd;
	} else if (strcmp(argv[1], "close_range") == 0) {
		one_call[REFUSED].k = SYS_close_range;
	} else if (strcmp(argv[1], "kill") == 0) {
		program.len = make_kill_rare();
		program.filter = kill_rare;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
		perror("refuse");
		return 2;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
