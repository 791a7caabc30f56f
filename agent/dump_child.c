/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_child.c - the clone machinery; see dump_child.h.
 *
 *	| guard | dump stack | guard | fault stacks | guard | helper stack |
 *	| guard | stack beside | guard | starter stack | TCB |
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
#include <sys/wait.h>

#include "arch/x86_64_child.h"
#include "atomics.h"
#include "compiler.h"
#include "resume.h"
#include "sandbox.h"
#include "surroundings.h"
#include "sys.h"

#define PAGE_BYTES ((size_t)4096)
/* deflate needs some 10 KiB, a file name 4 KiB each; the rest is head room. */
#define DUMP_STACK_BYTES ((size_t)256 << 10)
/* A signal frame with AVX-512 and AMX state takes 11 KiB. Twice: that of the
 * child, and that of the thread beside it. */
#define FAULT_STACK_BYTES ((size_t)48 << 10)
#define HELPER_STACK_BYTES ((size_t)16 << 10)
#define BESIDE_STACK_BYTES ((size_t)128 << 10)
#define STARTER_STACK_BYTES ((size_t)32 << 10)
/* Zeroes below the block, for what a stray thread-local access may meet. */
#define TLS_BELOW_BYTES ((size_t)12 << 10)
#define TLS_BYTES ((size_t)16 << 10)

#define DUMP_STACK_AT PAGE_BYTES
#define FAULT_STACK_AT (DUMP_STACK_AT + DUMP_STACK_BYTES + PAGE_BYTES)
#define HELPER_STACK_AT (FAULT_STACK_AT + 2 * FAULT_STACK_BYTES + PAGE_BYTES)
#define BESIDE_STACK_AT (HELPER_STACK_AT + HELPER_STACK_BYTES + PAGE_BYTES)
#define STARTER_STACK_AT (BESIDE_STACK_AT + BESIDE_STACK_BYTES + PAGE_BYTES)
#define TLS_AT (STARTER_STACK_AT + STARTER_STACK_BYTES)
#define AREA_BYTES (TLS_AT + TLS_BYTES)

/* In the tid word before the kernel has written the child's. */
#define TID_STARTING (-1)
/* How long a child may take from its last word to its end. */
#define LEAVE_TIMEOUT_NS UINT64_C(1000000000)

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
	bool fault_handled;
	/* Atomic, and written by the kernel: the thread beside; 0: none. */
	int32_t beside_tid;
	void (*beside_body)(void);
	/* A child of the host itself that nobody has reaped; 0: none. */
	int unreaped_pid;
} child;

/* What the kernel sends for what a thread does, and a debugger's breakpoints
 * in memory that we share, blocked or not. */
static const int fault_signals[] = { SIGSEGV, SIGBUS,  SIGILL, SIGFPE,
				     SIGABRT, SIGTRAP, SIGSYS };

int
dump_child_init(void)
{
	static const struct {
		size_t at, bytes;
	} parts[] = {
		{ DUMP_STACK_AT, DUMP_STACK_BYTES },
		{ FAULT_STACK_AT, 2 * FAULT_STACK_BYTES },
		{ HELPER_STACK_AT, HELPER_STACK_BYTES },
		{ BESIDE_STACK_AT, BESIDE_STACK_BYTES },
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

/* __WCLONE: not a child of the host's own that has got the number since. */
static void
reap_last(void)
{
	if (child.unreaped_pid != 0 &&
	    sys_call4(SYS_wait4, child.unreaped_pid, NULL, __WCLONE | WNOHANG,
		      NULL) != 0)
		child.unreaped_pid = 0;
}

bool
dump_child_prepare(void)
{
	int32_t starting = TID_STARTING;

	reap_last();
	/* A thread that was killed in the middle has left this: acquire as in
	 * alive(). */
	(void)atomic_cas_acquire(&child.tid, &starting, 0);
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
	/* A second fault is the handler's own. */
	if (!child.fault_handled) {
		child.fault_handled = true;
		child.faulted();
	}
	for (;;)
		(void)sys_call1(SYS_exit_group, 1);
}

/* Each thread has its own. */
static void
set_fault_stack(unsigned which)
{
	stack_t stack = { .ss_sp = area + FAULT_STACK_AT +
				   which * FAULT_STACK_BYTES,
			  .ss_size = FAULT_STACK_BYTES };

	(void)sys_call2(SYS_sigaltstack, &stack, NULL);
}

static void
catch_faults(void)
{
	struct arch_sigaction action = {
		.handler = child_fault,
		/* One that is blocked when it is due would dump core. */
		.flags = SA_ONSTACK | SA_NODEFER | ARCH_SA_RESTORER,
		/* The kernel asks for one; the handler never returns. */
		.restorer = NULL,
	};
	uint64_t unblocked = 0;

	child.fault_handled = false;

	set_fault_stack(0);
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

/* Runs in the child. It ends the thread beside, even one that waits in
 * ptrace(), which would be made again after the handler. */
static void
handle_urgent(int signal)
{
	(void)signal;
	child.handled = true;
	if (sys_gettid() == atomic_load_relaxed(&child.beside_tid))
		(void)sys_call1(SYS_exit, 0);
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
	const struct arch_sigaction action = {
		.handler = handle_urgent,
		.flags = ARCH_SA_RESTORER,
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
	const struct arch_sigaction action = {
		.action = resume_try_handler,
		.flags = SA_SIGINFO | ARCH_SA_RESTORER,
		.restorer = arch_sigreturn,
	};

	(void)sys_call4(SYS_rt_sigaction, nr, &action, NULL,
			sizeof(action.mask));
	resume_try(nr, TLS_BELOW_BYTES);
}

static void
child_main(void)
{
	char *here = __builtin_frame_address(0);
	char *stack = area + DUMP_STACK_AT;

	catch_faults();
	if (forget_call() && !sandbox_at_start())
		try_to_resume();
	surroundings_leave();
	(void)sys_call5(SYS_prctl, PR_SET_NAME, "heapagent-dump", 0, 0, 0);
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

	surroundings_share_no_descriptor();
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

int
dump_child_start(void (*body)(void), void (*faulted)(void))
{
	char *block = area + TLS_AT + TLS_BELOW_BYTES;
	long pid;

	child.body = body;
	child.faulted = faulted;
	arch_make_thread_block(block);
	if (surroundings_new_pid_namespace() || arch_under_valgrind())
		return -EPERM;
	if (!surroundings_adopt_orphans())
		return start_by_helper();
	pid = clone_child();
	if (sys_failed(pid))
		return (int)pid;
	child.unreaped_pid = (int)pid;
	return 0;
}

/* Whether the thread beside has ended by then. */
static bool
await_beside(uint64_t timeout_ns)
{
	const uint64_t slice_ns = 10 * 1000000;
	uint64_t begin_ns = sys_clock_ns(CLOCK_MONOTONIC);
	int32_t tid;

	/* Acquire pairs with the kernel's store at its end. */
	while ((tid = atomic_load_acquire(&child.beside_tid)) != 0) {
		uint64_t past_ns = sys_clock_ns(CLOCK_MONOTONIC) - begin_ns;

		if (past_ns >= timeout_ns)
			return false;
		/* Not FUTEX_PRIVATE, as in dump_child_wait_gone(). */
		sys_futex_wait(&child.beside_tid, (uint32_t)tid,
			       MIN(slice_ns, timeout_ns - past_ns), 0);
	}
	return true;
}

static void
beside_main(void)
{
	set_fault_stack(1);
	child.beside_body();
	for (;;)
		(void)sys_call1(SYS_exit, 0);
}

bool
dump_child_beside(void (*body)(void), uint64_t timeout_ns)
{
	struct arch_clone request = {
		.flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
			 CLONE_THREAD | CLONE_UNTRACED | CLONE_PARENT_SETTID |
			 CLONE_CHILD_CLEARTID,
		.stack_top = area + BESIDE_STACK_AT + BESIDE_STACK_BYTES,
		.parent_tid = &child.beside_tid,
		.child_tid = &child.beside_tid,
		.body = beside_main,
	};
	long tid;

	child.beside_body = body;
	tid = arch_clone(&request);
	if (sys_failed(tid))
		return false;
	if (await_beside(timeout_ns))
		return true;
	(void)sys_call3(SYS_tgkill, sys_getpid(), tid, SIGURG);
	/* Without it nobody knows what it still writes to. */
	if (!await_beside(LEAVE_TIMEOUT_NS))
		(void)sys_call1(SYS_exit_group, 1);
	return true;
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
	child.unreaped_pid = 0;
}
