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
 *that arrives just then is handed on with the detach.
 */
#include <errno.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "arch/x86_64_context.h"
#include "compiler.h"
#include "config.h"
#include "restart.h"
#include "resume.h"
#include "sys.h"
#include "threads.h"

#define PTRACE(request, tid, address, data) \
	sys_call4(SYS_ptrace, (request), (tid), (address), (data))

/* One that has not stopped by then waits for a processor, or is in the kernel:
 * the next is asked meanwhile. */
#define STOP_TIMEOUT_NS UINT64_C(1000000)
/* The stop takes 5 to 20 us; give the other thread the processor so long. */
#define STOP_YIELDS 64
#define STOP_SLEEP_NS UINT64_C(20000)

/* A stopped thread gives up its processor, and once more when it blocks anew:
 * threads_waits.c. */
#define STOP_SWITCHES 2

/*
 * Threads that did not stop in time: on a busy machine a thread may get no
 * processor for longer, and one in the kernel may not stop before it is done
 * there. They are read if they stop while the capture lasts, and let go as
 * soon as they do. Used by one dump child only; the next has no part in them.
 */
struct late {
	int tid;
	struct thread_record *record; /* NULL: only to be let go */
};
static struct late late[THREADS_LATE_MAX];
static unsigned late_count;
static int late_tracer;

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

static void
keep_late(int tid, struct thread_record *record)
{
	int self = sys_gettid();

	if (late_tracer != self)
		late_count = 0;
	late_tracer = self;
	if (late_count < THREADS_LATE_MAX)
		late[late_count++] = (struct late){ tid, record };
}

/*
 * 1: stopped, and has to be detached; 0: late; otherwise a negative errno. A
 * thread that is just ending is refused, too: that says nothing.
 */
static int
stop(struct threads *threads, struct thread_record *record, int *status)
{
	int tid = record->tid;
	long r = PTRACE(PTRACE_SEIZE, tid, 0, 0);

	if (sys_failed(r)) {
		if (r != -ESRCH && !threads_has_ended(threads, tid))
			record->refused = -(int)r;
		return (int)r;
	}
	(void)PTRACE(PTRACE_INTERRUPT, tid, 0, 0);
	return wait_stop(tid, status);
}

bool
threads_may_stop(struct threads *threads, struct thread_record *record)
{
	int status;
	int stopped = stop(threads, record, &status);

	if (stopped == 1)
		(void)PTRACE(PTRACE_DETACH, record->tid, 0,
			     signal_at_stop(status));
	else if (stopped == 0)
		keep_late(record->tid, NULL);
	return stopped >= 0;
}

/* True if the host's own signal is what ended the thread's call. */
static bool
has_pending_signal(int pid, int tid)
{
	struct thread_signals signals;

	return !threads_read_signals(pid, tid, &signals) ||
	       (signals.pending & ~signals.blocked & ~config_own_signals()) !=
		       0;
}

static void
set_back(const struct threads *threads, int tid, struct user_regs_struct *regs)
{
	long nr = (long)regs->orig_rax;

	if ((long)regs->rax != -EINTR || !restart_follows_stop(nr) ||
	    has_pending_signal(threads->pid, tid))
		return;
	arch_ptrace_rerun(regs, nr);
	(void)PTRACE(PTRACE_SETREGS, tid, 0, regs);
}

/* Reads a thread that has stopped, if record is not NULL, and lets it go. */
static void
read_stopped(struct threads *threads, int tid, struct thread_record *record,
	     int status)
{
	int deliver = signal_at_stop(status);
	struct user_regs_struct regs;

	if (!sys_failed(PTRACE(PTRACE_GETREGS, tid, 0, &regs))) {
		struct unwind_registers registers =
			arch_ptrace_registers(&regs);

		resume_registers(&registers, arch_ptrace_thread_pointer(&regs));
		if (record != NULL) {
			threads_walk(threads, record, &registers,
				     arch_ptrace_thread_pointer(&regs));
			record->how = THREAD_BY_PTRACE;
			record->wait.disturbed = STOP_SWITCHES;
		}
		if (deliver == 0)
			set_back(threads, tid, &regs);
	}
	(void)PTRACE(PTRACE_DETACH, tid, 0, deliver);
}

void
threads_stop_and_walk(struct threads *threads, struct thread_record *record)
{
	int status;
	int stopped = stop(threads, record, &status);

	if (stopped == 1) {
		read_stopped(threads, record->tid, record, status);
	} else if (stopped == 0) {
		record->how = THREAD_LATE;
		keep_late(record->tid, record);
	}
}

unsigned
threads_read_late(struct threads *threads)
{
	if (late_tracer != sys_gettid())
		return 0;
	for (unsigned i = 0; i < late_count;) {
		int status;
		int stopped = poll_stop(late[i].tid, &status);

		if (stopped == 0) {
			i++;
			continue;
		}
		if (stopped > 0)
			read_stopped(threads, late[i].tid, late[i].record,
				     status);
		late[i] = late[--late_count];
	}
	return late_count;
}

void
threads_forget_late(void)
{
	for (unsigned i = 0; i < late_count; i++)
		late[i].record = NULL;
}
