/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_child.c - the clone machinery; see dump_child.h.
 *
 *	| guard | dump stack | guard | fault stack | guard | helper stack |
 *	| guard | starter stack | TCB |
 *
 * A mapping of its own: what conservative collectors and leak checkers scan,
 * the library's .data and .bss, is never protected.
 *
 * The child's thread pointer is set to a small block of our own, because zlib
 * may have been compiled with stack protection, which reads its canary through
 * the thread pointer, and the interrupted thread's own block may be unmapped
 * while the child still runs. No thread-local variable is used in it.
 *
 * `tid` is the kernel's word: it writes the child's ID there when it makes the
 * child (CLONE_PARENT_SETTID) and zero when the child is gone, by whatever
 * death (CLONE_CHILD_CLEARTID), after its last use of our memory.
 */
#include "dump_child.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "arch/x86_64_child.h"
#include "atomics.h"
#include "compiler.h"
#include "resume.h"
#include "sys.h"

#define PAGE_BYTES ((size_t)4096)
/* deflate needs some 10 KiB, a file name 4 KiB each; the rest is head room. */
#define DUMP_STACK_BYTES ((size_t)256 << 10)
/* A signal frame with AVX-512 and AMX state takes 11 KiB. */
#define FAULT_STACK_BYTES ((size_t)64 << 10)
#define HELPER_STACK_BYTES ((size_t)16 << 10)
#define STARTER_STACK_BYTES ((size_t)32 << 10)
/* Zeroes below the block, for what a stray thread-local access may meet. */
#define TLS_BELOW_BYTES ((size_t)12 << 10)
#define TLS_BYTES ((size_t)16 << 10)

#define DUMP_STACK_AT PAGE_BYTES
#define FAULT_STACK_AT (DUMP_STACK_AT + DUMP_STACK_BYTES + PAGE_BYTES)
#define HELPER_STACK_AT (FAULT_STACK_AT + FAULT_STACK_BYTES + PAGE_BYTES)
#define STARTER_STACK_AT (HELPER_STACK_AT + HELPER_STACK_BYTES + PAGE_BYTES)
#define TLS_AT (STARTER_STACK_AT + STARTER_STACK_BYTES)
#define AREA_BYTES (TLS_AT + TLS_BYTES)

/* In the tid word before the kernel has written the child's. */
#define TID_STARTING (-1)
/* How long a child may take from its last word to its end. */
#define LEAVE_TIMEOUT_NS UINT64_C(1000000000)

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
/* Numbers without a list of them; what a process has by default at most. */
#define DESCRIPTORS_BLIND 4096

/* struct sigaction as the kernel has it (x86-64). */
struct kernel_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};
#define KERNEL_SA_RESTORER 0x04000000UL

/* Mapped at start: a dump must not fail for want of it. Untouched, it costs no
 * memory. Immutable after dump_child_init(). */
static char *area;

static struct {
	/* Atomic, and written by the kernel. */
	int32_t tid;
	/* Written by the thread that starts a child, before it does. */
	void (*body)(void);
	void (*faulted)(void);
	/* Written by the helper before it ends, read after that. */
	int error;
	/* Written and read by the child. */
	bool handled;
	/* Of the thread that started a child which lingers. */
	int lingering_pid;
} child;

static const int fault_signals[] = { SIGSEGV, SIGBUS,  SIGILL,
				     SIGFPE,  SIGABRT, SIGSYS };

int
dump_child_init(void)
{
	static const struct {
		size_t at, bytes;
	} parts[] = {
		{ DUMP_STACK_AT, DUMP_STACK_BYTES },
		{ FAULT_STACK_AT, FAULT_STACK_BYTES },
		{ HELPER_STACK_AT, HELPER_STACK_BYTES },
		{ STARTER_STACK_AT, STARTER_STACK_BYTES + TLS_BYTES },
	};
	char *base;
	long r;

	if (area != NULL)
		return 0;
	r = sys_call6(SYS_mmap, 0, AREA_BYTES, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	base = (char *)r;
	if (sys_failed(r))
		return (int)r;
	for (unsigned i = 0; i < ARRAY_SIZE(parts) && !sys_failed(r); i++)
		r = sys_call3(SYS_mprotect, base + parts[i].at, parts[i].bytes,
			      PROT_READ | PROT_WRITE);
	if (sys_failed(r)) {
		sys_unmap(base, AREA_BYTES);
		return (int)r;
	}
	area = base;
	return 0;
}

bool
dump_child_alive(void)
{
	/* Acquire pairs with the kernel's store at the child's end: its stack
	 * and all it wrote are ours again. */
	return atomic_load_acquire(&child.tid) != 0;
}

int
dump_child_pid(void)
{
	/* Relaxed: a number; who needs the child's writes waits for them. */
	int tid = atomic_load_relaxed(&child.tid);

	return tid > 0 ? tid : 0;
}

bool
dump_child_wait_gone(uint64_t timeout_ns)
{
	/* In slices, so that a wake that was missed costs one of them. */
	const uint64_t slice_ns = 10 * 1000000;
	uint64_t begin_ns;

	/* Not even the clock's system call if there is nothing to wait for:
	 * a sandbox may end the program for it. */
	if (!dump_child_alive())
		return true;
	begin_ns = sys_clock_ns(CLOCK_MONOTONIC);
	for (;;) {
		int tid = atomic_load_acquire(&child.tid); /* see alive() */

		if (tid == 0)
			return true;
		if (sys_clock_ns(CLOCK_MONOTONIC) - begin_ns > timeout_ns)
			return false;
		/* Not FUTEX_PRIVATE: the kernel's own wake is a shared one. */
		sys_futex_wait(&child.tid, (uint32_t)tid, slice_ns, 0);
	}
}

bool
dump_child_prepare(void)
{
	if (!dump_child_wait_gone(LEAVE_TIMEOUT_NS))
		return false;
	/* Relaxed: requests_running() publishes it. */
	atomic_store_relaxed(&child.tid, TID_STARTING);
	return true;
}

void
dump_child_unmark(void)
{
	/* Release pairs with alive() of the next to start. */
	atomic_store_release(&child.tid, 0);
}

/* Runs in the child, on the fault stack. */
static void
child_fault(int signal)
{
	(void)signal;
	child.faulted();
	for (;;)
		(void)sys_call1(SYS_exit_group, 1);
}

static void
catch_faults(void)
{
	stack_t stack = { .ss_sp = area + FAULT_STACK_AT,
			  .ss_size = FAULT_STACK_BYTES };
	struct kernel_sigaction action = {
		.handler = child_fault,
		.flags = SA_ONSTACK | KERNEL_SA_RESTORER,
		/* The kernel asks for one; the handler never returns. */
		.restorer = NULL,
		.mask = ~UINT64_C(0),
	};
	uint64_t unblocked = 0;

	(void)sys_call2(SYS_sigaltstack, &stack, NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(fault_signals); i++) {
		(void)sys_call4(SYS_rt_sigaction, fault_signals[i], &action,
				NULL, sizeof(action.mask));
		unblocked |= UINT64_C(1) << (fault_signals[i] - 1);
	}
	/* A full file system quota is an error of write(), not a death. */
	action.handler = SIG_IGN;
	(void)sys_call4(SYS_rt_sigaction, SIGXFSZ, &action, NULL,
			sizeof(action.mask));
	(void)sys_call4(SYS_rt_sigprocmask, SIG_UNBLOCK, &unblocked, NULL,
			sizeof(unblocked));
}

/* Runs in the child. */
static void
handle_nothing(int signal)
{
	(void)signal;
	child.handled = true;
}

/*
 * A child of clone() inherits what the kernel keeps of the call that its
 * parent's handler interrupted (resume.h). The return from a handler of its own
 * makes the kernel forget that: true if there was one.
 */
static bool
forget_call(void)
{
	const int nr = SIGURG;
	const uint64_t set = UINT64_C(1) << (nr - 1);
	const struct kernel_sigaction action = {
		.handler = handle_nothing,
		.flags = KERNEL_SA_RESTORER,
		.restorer = arch_sigreturn,
	};

	child.handled = false;
	(void)sys_call4(SYS_rt_sigaction, nr, &action, NULL, sizeof(set));
	(void)sys_call2(SYS_kill, sys_getpid(), nr);
	(void)sys_call4(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL,
			sizeof(set));
	/* The handler runs before the call above returns. */
	signal_fence();
	return child.handled;
}

static void
try_to_resume(void)
{
	const int nr = SIGURG; /* forget_call() has unblocked it */
	const struct kernel_sigaction action = {
		.handler = (void (*)(int))(void (*)(void))resume_try_handler,
		.flags = SA_SIGINFO | KERNEL_SA_RESTORER,
		.restorer = arch_sigreturn,
	};

	(void)sys_call4(SYS_rt_sigaction, nr, &action, NULL,
			sizeof(action.mask));
	resume_try(nr, TLS_BELOW_BYTES);
}

static void
close_descriptors(void)
{
	if (!sys_failed(sys_call3(SYS_close_range, 0, ~0U, 0)))
		return;
	for (int fd = 0; fd < DESCRIPTORS_BLIND; fd++)
		sys_close(fd);
}

static void
child_main(void)
{
	const struct rlimit no_core = { 0, 0 };
	char *here = __builtin_frame_address(0);
	char *stack = area + DUMP_STACK_AT;

	catch_faults();
	if (forget_call())
		try_to_resume();
	close_descriptors();
	(void)sys_call5(SYS_prctl, PR_SET_NAME, "heapagent-dump", 0, 0, 0);
	(void)sys_call4(SYS_prlimit64, 0, RLIMIT_CORE, &no_core, NULL);
	child.body();
	/* What the dump used of its stack goes back, but for its top. */
	(void)sys_call3(SYS_madvise, stack,
			((size_t)(here - stack) - PAGE_BYTES) &
				~(PAGE_BYTES - 1),
			MADV_DONTNEED);
}

static long
clone_child(void)
{
	char *block = area + TLS_AT + TLS_BELOW_BYTES;
	struct arch_clone request = {
		.flags = CLONE_VM | CLONE_SETTLS | CLONE_UNTRACED |
			 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
		.stack_top = area + DUMP_STACK_AT + DUMP_STACK_BYTES,
		.parent_tid = &child.tid,
		.child_tid = &child.tid,
		.thread_pointer = block,
		.body = child_main,
	};

	return arch_clone(&request);
}

/*
 * The helper shares the host's table of descriptors, which costs nothing, and
 * leaves it for an empty one, so that the child's is made by copying nothing,
 * however many the host has. Where that is refused, the child's is a copy.
 */
static void
helper_main(void)
{
	long r;

	(void)sys_call3(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE);
	r = clone_child();
	if (sys_failed(r))
		child.error = (int)r;
}

/* Reaps one child of ours, whoever may have been faster. */
static void
reap(int pid)
{
	long r;

	/* __WALL: it ends without a signal, as wait() alone does not see. */
	do
		r = sys_call4(SYS_wait4, pid, NULL, __WALL, NULL);
	while (r == -EINTR);
}

static int
start_by_helper(void)
{
	struct arch_clone request = {
		.flags = CLONE_VM | CLONE_FILES | CLONE_UNTRACED,
		.stack_top = area + HELPER_STACK_AT + HELPER_STACK_BYTES,
		.body = helper_main,
	};
	long pid;

	child.error = -ECHILD;
	pid = arch_clone(&request);
	if (sys_failed(pid))
		return (int)pid;
	reap((int)pid);
	/*
	 * The helper was waited for, or was found reaped: it has ended. If the
	 * kernel wrote no ID there is no child (it may have come and gone
	 * since, which reads zero). Relaxed: reaping orders the helper's
	 * writes.
	 */
	if (atomic_load_relaxed(&child.tid) == TID_STARTING)
		return child.error;
	return 0;
}

/* True if orphans of this process come back to it. */
static bool
adopts_orphans(void)
{
	int subreaper = 0;

	if (sys_getpid() == 1)
		return true;
	(void)sys_call5(SYS_prctl, PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0);
	return subreaper != 0;
}

/*
 * True if a child of this process would be the first of a new PID namespace:
 * its end would kill what the host puts in there after it (unshare(2)).
 */
static bool
would_be_first(void)
{
	char own[64], next[64];
	long a = sys_call4(SYS_readlinkat, -1, "/proc/thread-self/ns/pid", own,
			   sizeof(own));
	long b = sys_call4(SYS_readlinkat, -1,
			   "/proc/thread-self/ns/pid_for_children", next,
			   sizeof(next));

	/* A namespace that has no first process yet has no name yet either. */
	if (sys_failed(a) || sys_failed(b))
		return !sys_failed(a);
	return a != b || __builtin_memcmp(own, next, (size_t)a) != 0;
}

int
dump_child_start(void (*body)(void), void (*faulted)(void), bool *linger)
{
	char *block = area + TLS_AT + TLS_BELOW_BYTES;
	long pid;

	child.body = body;
	child.faulted = faulted;
	arch_make_thread_block(block);
	*linger = false;
	if (would_be_first() || arch_under_valgrind())
		return -EPERM;
	if (!adopts_orphans())
		return start_by_helper();
	pid = clone_child();
	if (sys_failed(pid))
		return (int)pid;
	child.lingering_pid = (int)pid;
	*linger = true;
	return 0;
}

void
dump_child_reap(uint64_t timeout_ns)
{
	/* Named by its number, not by the word that the kernel has cleared. */
	if (!dump_child_wait_gone(timeout_ns))
		(void)sys_call2(SYS_kill, child.lingering_pid, SIGKILL);
	reap(child.lingering_pid);
}

void
dump_child_in_place(void (*body)(void))
{
	arch_call_on_stack(area + DUMP_STACK_AT + DUMP_STACK_BYTES, body);
}

void
dump_child_starter_stack(void (*body)(void))
{
	arch_call_on_stack(area + STARTER_STACK_AT + STARTER_STACK_BYTES, body);
}

void
dump_child_forget(void)
{
	/* Relaxed: the forked child has one thread. */
	atomic_store_relaxed(&child.tid, 0);
}
