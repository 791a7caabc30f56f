/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_ptrace.c - a thread of the host stopped, read and let go; see
 * threads.h.
 *
 *	SEIZE ─► INTERRUPT ─► wait ─► GETREGS ─► walk in shared memory ─► DETACH
 *
 * PTRACE_SEIZE sends no signal and INTERRUPT runs no handler: the kernel
 * restarts what the thread slept in. Where it does not (restart.h), the thread
 * is read from its syscall file; if it entered such a call between our look
 * and our stop, the call is set back to its beginning. A signal of the host
 * that arrives just then is handed on with the detach.
 */
#include <errno.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "arch/x86_64_context.h"
#include "compiler.h"
#include "restart.h"
#include "sys.h"
#include "threads.h"

#define PTRACE(request, tid, address, data) \
	sys_call4(SYS_ptrace, (request), (tid), (address), (data))

#define STOP_TIMEOUT_NS UINT64_C(50000000)
/* The stop takes 5 to 20 us; give the other thread the processor so long. */
#define STOP_YIELDS 64
#define STOP_SLEEP_NS UINT64_C(20000)

/* Threads that did not stop in time. Only this process uses it. */
#define LATE_MAX 64
static int late[LATE_MAX];
static unsigned late_count;

/* The signal that a stopped thread is to be let go with. */
static int
signal_at_stop(int status)
{
	/* A stop that ptrace asked for itself has an event number. */
	return status >> 16 != 0 ? 0 : WSTOPSIG(status);
}

/* 1: stopped; 0: not yet; negative: gone. */
static int
poll_stop(int tid, int *status)
{
	long r = sys_call4(SYS_wait4, tid, status, __WALL | WNOHANG, NULL);

	if (r == 0 || r == -EINTR)
		return 0;
	if (r < 0)
		return (int)r;
	return WIFSTOPPED(*status) ? 1 : -ESRCH;
}

static int
wait_stop(int tid, int *status)
{
	uint64_t begin_ns = sys_clock_ns(CLOCK_MONOTONIC);
	int r;

	for (unsigned i = 0; (r = poll_stop(tid, status)) == 0; i++) {
		if (i < STOP_YIELDS) {
			(void)sys_call0(SYS_sched_yield);
			continue;
		}
		if (sys_clock_ns(CLOCK_MONOTONIC) - begin_ns > STOP_TIMEOUT_NS)
			return 0;
		sys_sleep_ns(STOP_SLEEP_NS);
	}
	return r;
}

/* 1: stopped, and has to be detached; otherwise 0 or a negative errno. */
static int
stop(int tid, int *status)
{
	long r = PTRACE(PTRACE_SEIZE, tid, 0, 0);
	int stopped;

	if (sys_failed(r))
		return (int)r;
	(void)PTRACE(PTRACE_INTERRUPT, tid, 0, 0);
	stopped = wait_stop(tid, status);
	if (stopped == 0 && late_count < LATE_MAX)
		late[late_count++] = tid;
	return stopped;
}

void
threads_release_late(void)
{
	for (unsigned i = 0; i < late_count;) {
		int status;
		int stopped = poll_stop(late[i], &status);

		if (stopped == 0) {
			i++;
			continue;
		}
		if (stopped > 0)
			(void)PTRACE(PTRACE_DETACH, late[i], 0,
				     signal_at_stop(status));
		late[i] = late[--late_count];
	}
}

bool
threads_may_stop(int tid)
{
	int status;

	if (stop(tid, &status) != 1)
		return false;
	(void)PTRACE(PTRACE_DETACH, tid, 0, signal_at_stop(status));
	return true;
}

/* True if the host's own signal is what ended the thread's call. */
static bool
has_pending_signal(int pid, int tid)
{
	struct thread_signals signals;

	return !threads_read_signals(pid, tid, &signals) ||
	       (signals.pending & ~signals.blocked) != 0;
}

static void
set_back(const struct threads *threads, int tid, struct user_regs_struct *regs)
{
	if ((long)regs->rax != -EINTR ||
	    !restart_notices_stop((long)regs->orig_rax) ||
	    has_pending_signal(threads->pid, tid))
		return;
	arch_ptrace_rerun(regs);
	(void)PTRACE(PTRACE_SETREGS, tid, 0, regs);
}

bool
threads_stop_and_walk(struct threads *threads, struct thread_record *record)
{
	struct user_regs_struct regs;
	int status, deliver;

	if (stop(record->tid, &status) != 1)
		return false;
	deliver = signal_at_stop(status);
	if (!sys_failed(PTRACE(PTRACE_GETREGS, record->tid, 0, &regs))) {
		struct unwind_registers registers =
			arch_ptrace_registers(&regs);

		threads_walk(threads, record, &registers,
			     arch_ptrace_thread_pointer(&regs));
		if (deliver == 0)
			set_back(threads, record->tid, &regs);
	}
	(void)PTRACE(PTRACE_DETACH, record->tid, 0, deliver);
	return record->frame_count > 0;
}
