/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_ptrace.c - a thread of the host stopped, read and let go; see
 * threads.h.
 *
 *	SEIZE ─► INTERRUPT ─► wait ─► GETREGS ─► walk in shared memory ─► DETACH
 *
 * PTRACE_SEIZE sends no signal and INTERRUPT runs no handler. The thread runs,
 * or its call goes on after the stop (threads_blocked.c); one that has entered
 * another call since our look, and gets EINTR for the stop, makes it again. A
 * signal of the host that arrives just then is handed on with the detach.
 *
 * Who calls exec() waits until its threads are gone, and one that we hold goes
 * only when we let go; who seizes a thread waits for the exec(). So no thread
 * is held while another is seized. One that does not stop in time, because it
 * gets no processor or is in the kernel, cannot be detached: it is let go by
 * the end of the thread that seized it, the tracer, and another one goes on
 * with the next. Those that were late have more time in the next round.
 */
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "arch/x86_64_context.h"
#include "compiler.h"
#include "config.h"
#include "restart.h"
#include "resume.h"
#include "sandbox.h"
#include "sys.h"
#include "threads.h"

#define PTRACE(request, tid, address, data) \
	sys_call4(SYS_ptrace, (request), (tid), (address), (data))

/* What a thread may take to stop, by rounds: on a busy machine one that can run
 * waits for its turn. */
static const uint64_t round_ns[] = { 20000000, 200000000 };
/* The stop takes 5 to 20 us; give the other thread the processor so long. */
#define STOP_YIELDS 64
#define STOP_SLEEP_NS UINT64_C(20000)

/* A stopped thread gives up its processor, and once more when it blocks anew:
 * threads_waits.c. */
#define STOP_SWITCHES 2

/* Of the dump child's; written by the tracer while that waits for its end. */
static struct {
	struct threads *threads;
	unsigned next; /* of the records */
	unsigned round;
	uint64_t end_ns;
	bool was_late; /* somebody, in this round */
} capture;

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
wait_stop(int tid, int *status, uint64_t timeout_ns)
{
	uint64_t begin_ns = sys_clock_ns(CLOCK_MONOTONIC);
	int r;

	for (unsigned i = 0; (r = poll_stop(tid, status)) == 0; i++) {
		if (i < STOP_YIELDS) {
			(void)sys_call0(SYS_sched_yield);
			continue;
		}
		if (sys_clock_ns(CLOCK_MONOTONIC) - begin_ns > timeout_ns)
			return 0;
		sys_sleep_ns(STOP_SLEEP_NS);
	}
	return r;
}

static bool
is_of_process(const struct threads *threads, int tid)
{
	return sys_call3(SYS_tgkill, threads->pid, tid, 0) != -ESRCH;
}

/* True if a stopped thread has our memory: since an exec() it has not. */
static bool
shares_memory(int tid)
{
	volatile long here = (long)sys_clock_ns(CLOCK_MONOTONIC) ^ tid;
	long there = 0;

	return !sys_failed(PTRACE(PTRACE_PEEKDATA, tid, &here, &there)) &&
	       there == here;
}

/*
 * True if a filter may end the thread for restart_syscall(), by which a call
 * goes on after a stop: one of its own. (Under one from before the program
 * nobody is stopped.)
 */
static bool
is_sandboxed(const struct threads *threads, int tid)
{
	struct thread_signals signals;

	return sandbox_was_seen() ||
	       !threads_read_signals(threads->pid, tid, &signals) ||
	       signals.sandbox != 0;
}

/*
 * 1: stopped, and has to be detached; 0: held, but not stopped; otherwise a
 * negative errno. A thread that is just ending is refused, too: that says
 * nothing.
 */
static int
stop(struct threads *threads, struct thread_record *record, int *status,
     uint64_t timeout_ns)
{
	int tid = record->tid;
	long r;

	/* Not one that has got the number of one of ours since. */
	if (!is_of_process(threads, tid))
		return -ESRCH;
	if (is_sandboxed(threads, tid)) {
		record->refused = EPERM;
		return -EPERM;
	}
	r = PTRACE(PTRACE_SEIZE, tid, 0, 0);
	if (sys_failed(r)) {
		if (r != -ESRCH && !threads_has_ended(threads, tid))
			record->refused = -(int)r;
		return (int)r;
	}
	if (!is_of_process(threads, tid) || sandbox_was_seen())
		return 0;
	(void)PTRACE(PTRACE_INTERRUPT, tid, 0, 0);
	return wait_stop(tid, status, timeout_ns);
}

bool
threads_may_stop(struct threads *threads, struct thread_record *record)
{
	char text[8];

	/* The same right is needed to read this file. */
	if (threads_read_file(threads->pid, record->tid, "syscall", text,
			      sizeof(text)) > 0 &&
	    threads_tracer_of(threads, record->tid) == 0)
		return true;
	record->refused = EPERM;
	return false;
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

/* Reads a thread that has stopped, and lets it go. */
static void
read_stopped(struct threads *threads, struct thread_record *record, int status)
{
	int tid = record->tid, deliver = signal_at_stop(status);
	struct user_regs_struct regs;

	if (shares_memory(tid) &&
	    !sys_failed(PTRACE(PTRACE_GETREGS, tid, 0, &regs))) {
		struct unwind_registers registers =
			arch_ptrace_registers(&regs);

		resume_registers(&registers, arch_ptrace_thread_pointer(&regs));
		threads_walk(threads, record, &registers,
			     arch_ptrace_thread_pointer(&regs));
		record->how = THREAD_BY_PTRACE;
		record->wait.disturbed = STOP_SWITCHES;
		if (deliver == 0)
			set_back(threads, tid, &regs);
	}
	(void)PTRACE(PTRACE_DETACH, tid, 0, deliver);
}

bool
threads_stop_and_walk(struct threads *threads, struct thread_record *record,
		      uint64_t timeout_ns)
{
	int status;
	int stopped = stop(threads, record, &status, timeout_ns);

	if (stopped == 1)
		read_stopped(threads, record, status);
	record->late = stopped == 0;
	return !record->late;
}

/* From the next record on, until all are read, one is late, or the time is
 * over. */
static void
trace(void)
{
	struct threads *threads = capture.threads;

	while (capture.next < threads->count &&
	       sys_clock_ns(CLOCK_MONOTONIC) < capture.end_ns) {
		struct thread_record *record =
			&threads->records[capture.next++];

		if (record->how != THREAD_UNREAD ||
		    (threads->may_stop && record->refused != 0))
			continue;
		if (threads_capture_one(threads, record,
					round_ns[capture.round]))
			continue;
		capture.was_late = true;
		return;
	}
}

/* How long the capture may take from now on; 0: its time is over. */
static uint64_t
remaining_ns(void)
{
	uint64_t now_ns = sys_clock_ns(CLOCK_MONOTONIC);

	return now_ns < capture.end_ns ? capture.end_ns - now_ns : 0;
}

static void
trace_beside(struct threads *threads)
{
	if (threads->may_stop && threads->run_tracer(trace, remaining_ns()))
		return;
	threads->may_stop = false;
	trace();
}

void
threads_capture(struct threads *threads, uint64_t timeout_ns)
{
	capture.threads = threads;
	capture.end_ns = sys_clock_ns(CLOCK_MONOTONIC) + timeout_ns;
	for (unsigned i = 0; i < ARRAY_SIZE(round_ns); i++) {
		capture.round = i;
		capture.next = 0;
		capture.was_late = false;
		while (capture.next < threads->count && remaining_ns() > 0)
			trace_beside(threads);
		if (!capture.was_late || remaining_ns() == 0)
			break;
	}
}
