/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_signal.c - each thread that runs asked to walk its own stack, in the
 * handler of a real-time signal; see threads.h.
 *
 * One that is blocked is read as it is: a handler would end its call, or be too
 * late. A thread of the process itself may see where, whatever the dump child
 * is refused.
 *
 * The signal is one that nobody uses: its disposition is the default, it is not
 * pending, and nobody blocks it, as who waits for one does. Many threads block
 * all signals, which says nothing of any; where all real-time signals are
 * blocked only so, one of those is taken. Only if an answer is missing is the
 * signal set to "ignore", which discards what is still pending, so that no
 * thread dies of it later. A handler that the host has installed meanwhile
 * stays.
 *
 * The slots are unmapped only when no handler is in them: `entered` is raised
 * before `slots` is read there, and read after `slots` was cleared here.
 */
#include <signal.h>
#include <string.h>

#include "arch/x86_64_child.h"
#include "atomics.h"
#include "compiler.h"
#include "counters.h"
#include "restart.h"
#include "sandbox.h"
#include "sys.h"
#include "threads.h"

/* So long after the last answer, or after all. */
#define ANSWER_TIMEOUT_NS UINT64_C(100000000)
#define ANSWERS_TIMEOUT_NS UINT64_C(1000000000)
#define ANSWER_SLEEP_NS UINT64_C(50000)
#define SIGNAL_FIRST 34 /* glibc keeps 32 and 33 to itself */
#define SIGNAL_LAST 63
#define REAL_TIME_SIGNALS \
	((~UINT64_C(0) >> (64 - SIGNAL_LAST)) & \
	 (~UINT64_C(0) << (SIGNAL_FIRST - 1)))

struct slot {
	uint32_t answered; /* atomic: 1 when frames are complete */
	unsigned frame_count;
	struct unwind_scratch scratch;
	uint64_t frames[UNWIND_FRAMES_MAX];
};

static struct {
	struct slot *slots; /* atomic; NULL: nobody is asked */
	uint32_t entered;   /* atomic: handlers that may use the slots */
	/* Immutable while slots is set. */
	const int *tids; /* of the threads that the slots are for; 0: nobody */
	unsigned count;
	unsigned depth;
	enum unwind_method method;
	int pid;
	uint64_t sandbox; /* that of the thread that asks */
} asked;

static void
fill(struct slot *slot, const ucontext_t *context)
{
	struct span own = { 0, 0 };
	struct unwind_request request = {
		.registers = arch_context_registers(context),
		.method = asked.method,
		.thread_pointer = arch_thread_pointer(),
		.own = &own,
		.scratch = &slot->scratch,
		.frames = slot->frames,
		.max = asked.depth,
	};

	(void)unwind_stack(&request, &slot->frame_count);
	/* Release pairs with count_answers(): the frames come with it. */
	atomic_store_release(&slot->answered, 1);
}

static void
answer(int signal, siginfo_t *info, void *context)
{
	struct slot *slots;
	int tid;

	(void)signal;
	/* Entered since it was asked: it may end us for any call. */
	if (sandbox_was_seen())
		return;
	tid = sys_gettid();
	restart_begin(context);
	/* Relaxed, because the fence orders it before the load of slots. */
	(void)atomic_add_relaxed(&asked.entered, 1);
	/* Pairs with the fence in stop_asking(): either that sees us in
	 * entered, or we see that slots is cleared. */
	atomic_fence_seq_cst();
	slots = atomic_load_acquire(&asked.slots);
	for (unsigned i = 0; slots != NULL && i < asked.count; i++)
		if (asked.tids[i] == tid && info->si_pid == asked.pid)
			fill(&slots[i], context);
	/* Release pairs with the load in stop_asking(): our last use of the
	 * slots lies before it. */
	(void)atomic_add_acq_rel(&asked.entered, -1U);
	/* Last, because it may not return. */
	(void)restart_call(context, RESTART_IS_DIRECT(context));
}

/* The signals that are in use, by those of a thread. */
struct used {
	uint64_t
		by_one; /* pending, or blocked by one that does not block all */
	uint64_t by_all; /* blocked by one that blocks them all */
};

static void
add_used(struct used *used, const struct thread_signals *signals)
{
	uint64_t *blocked = (~signals->blocked & REAL_TIME_SIGNALS) == 0
				    ? &used->by_all
				    : &used->by_one;

	*blocked |= signals->blocked;
	used->by_one |= signals->pending;
}

/* Not libc's function, nor what stands before it: that of libjsig has a lock,
 * which the thread that we interrupt may hold. */
static long
change_action(int nr, const struct arch_sigaction *action,
	      struct arch_sigaction *before)
{
	return sys_call4(SYS_rt_sigaction, nr, action, before,
			 sizeof(action->mask));
}

/* A real-time signal of the set that has no handler and is not ignored, or 0.
 */
static int
default_signal(uint64_t set)
{
	struct arch_sigaction now;

	for (int nr = SIGNAL_LAST; nr >= SIGNAL_FIRST; nr--)
		if ((set >> (nr - 1) & 1) != 0 &&
		    change_action(nr, NULL, &now) == 0 &&
		    now.handler == SIG_DFL)
			return nr;
	return 0;
}

/* A real-time signal that the host does not use, or 0. blocked: of this thread
 * before it came here. */
static int
free_signal(const struct threads *threads, uint64_t blocked)
{
	struct thread_signals signals = { .blocked = blocked };
	struct used used = { 0, 0 };
	int self = sys_gettid(), nr;

	add_used(&used, &signals);
	for (unsigned i = 0; i < threads->count; i++) {
		int tid = threads->records[i].tid;

		if (!threads_read_signals(threads->pid, tid, &signals))
			continue;
		if (tid == self)
			signals.blocked = 0; /* all: that is ours */
		add_used(&used, &signals);
	}
	nr = default_signal(~used.by_one & ~used.by_all);
	return nr != 0 ? nr : default_signal(~used.by_one);
}

/* True if a signal would find the thread where it runs no handler. */
static bool
is_held(const struct thread_record *record)
{
	static const char *const states[] = { "stopped", "traced",
					      "disk-sleep" };

	for (unsigned i = 0; i < ARRAY_SIZE(states); i++)
		if (strcmp(record->state, states[i]) == 0)
			return true;
	return false;
}

/* Looks once more, just before a signal is sent: all was described before any
 * thread was asked, and it may be in another call by now. */
static void
look_again(struct threads *threads, struct thread_record *record)
{
	struct thread_record now = *record;

	threads_read_call(threads, &now);
	if (!threads_is_same_call(&now.call, &record->call))
		threads_describe(threads, record);
}

/* True if the thread is to be asked: it has no stack yet, and runs. */
static bool
is_to_be_asked(struct threads *threads, struct thread_record *record, int nr)
{
	bool was_blocked = record->call.known;
	struct thread_signals signals;

	if (record->how != THREAD_UNREAD || threads_is_dead(record))
		return false;
	look_again(threads, record);
	/* Whoever saw that reads it when nobody waits. */
	if (was_blocked && record->call.known)
		return false;
	if (threads_read_call_site(threads, record)) {
		record->how = THREAD_BY_FILE;
		return false;
	}
	return nr != 0 && !is_held(record) &&
	       threads_read_signals(threads->pid, record->tid, &signals) &&
	       (signals.blocked >> (nr - 1) & 1) == 0 &&
	       signals.sandbox == asked.sandbox && !sandbox_was_seen();
}

/* Sends the signals; how many answers to expect. */
static unsigned
ask(struct threads *threads, int *tids, int nr)
{
	unsigned sent = 0;

	for (unsigned i = 0; i < threads->count; i++) {
		struct thread_record *record = &threads->records[i];

		if (!is_to_be_asked(threads, record, nr))
			continue;
		tids[i] = record->tid;
		if (!sys_failed(sys_call3(SYS_tgkill, threads->pid, record->tid,
					  nr)))
			sent++;
	}
	return sent;
}

static unsigned
count_answers(const struct slot *slots, unsigned count)
{
	unsigned answers = 0;

	/* Acquire pairs with fill(). */
	for (unsigned i = 0; i < count; i++)
		answers += atomic_load_acquire(&slots[i].answered);
	return answers;
}

/* Waits for so many answers, while they keep coming. Whether they have. */
static bool
wait_for_answers(const struct slot *slots, unsigned count, unsigned expected)
{
	uint64_t begin_ns = sys_clock_ns(CLOCK_MONOTONIC), last_ns = begin_ns;
	unsigned before = 0;

	for (;;) {
		unsigned answers = count_answers(slots, count);
		uint64_t now_ns = sys_clock_ns(CLOCK_MONOTONIC);

		if (answers > before)
			last_ns = now_ns;
		before = answers;
		if (answers == expected)
			return true;
		if (now_ns - last_ns > ANSWER_TIMEOUT_NS ||
		    now_ns - begin_ns > ANSWERS_TIMEOUT_NS)
			return false;
		sys_sleep_ns(ANSWER_SLEEP_NS);
	}
}

static bool
is_ours(const struct arch_sigaction *action)
{
	return action->action == answer;
}

/* Sets what the signal does, if that is still ours to say. */
static void
set_action(int nr, const struct arch_sigaction *action)
{
	struct arch_sigaction now;

	if (change_action(nr, NULL, &now) != 0 || !is_ours(&now))
		return;
	(void)change_action(nr, action, &now);
	/* The host has installed its own between the two. */
	if (!is_ours(&now))
		(void)change_action(nr, &now, NULL);
}

/* True if no handler uses the slots any more. */
static bool
stop_asking(int nr, const struct arch_sigaction *before, bool all_answered)
{
	struct arch_sigaction ignore = { .handler = SIG_IGN }, now;
	uint64_t begin_ns = sys_clock_ns(CLOCK_MONOTONIC);

	if (all_answered) {
		set_action(nr, before);
	} else {
		set_action(nr, &ignore);
		if (change_action(nr, NULL, &now) == 0 &&
		    now.handler == SIG_IGN)
			(void)change_action(nr, before, NULL);
	}
	atomic_store_release(&asked.slots, NULL);
	atomic_fence_seq_cst(); /* pairs with that in answer() */
	/* Acquire pairs with the release at the end of answer(). */
	while (atomic_load_acquire(&asked.entered) != 0) {
		if (sys_clock_ns(CLOCK_MONOTONIC) - begin_ns >
		    ANSWER_TIMEOUT_NS)
			return false;
		sys_sleep_ns(ANSWER_SLEEP_NS);
	}
	return true;
}

static void
keep_answers(struct threads *threads, const struct slot *slots)
{
	for (unsigned i = 0; i < threads->count; i++) {
		struct thread_record *record = &threads->records[i];

		if (atomic_load_acquire(&slots[i].answered) == 0)
			continue;
		threads_keep(threads, record, slots[i].frames,
			     slots[i].frame_count);
		record->how = THREAD_BY_SIGNAL;
		/* It blocks anew after the handler: threads_waits.c. */
		record->wait.disturbed = 1;
		counter_add(COUNTER_threads_by_signal);
	}
}

void
threads_ask_by_signal(struct threads *threads, uint64_t blocked)
{
	const struct arch_sigaction action = {
		.action = answer,
		.flags =
			SA_SIGINFO | SA_RESTART | SA_ONSTACK | ARCH_SA_RESTORER,
		.restorer = arch_sigreturn,
		.mask = ~UINT64_C(0), /* all 64, as in trigger_init() */
	};
	struct thread_signals own;
	size_t slots_bytes = threads->count * sizeof(struct slot);
	size_t size_bytes = slots_bytes + threads->count * sizeof(int);
	struct arch_sigaction before;
	int nr = free_signal(threads, blocked);
	struct slot *slots;
	bool all_answered;
	int *tids;

	if ((slots = sys_map(size_bytes)) == NULL)
		return;
	tids = (int *)((char *)slots + slots_bytes);
	threads->signal = nr;
	asked.tids = tids;
	asked.count = threads->count;
	asked.depth = threads->depth;
	asked.method = threads->method;
	asked.pid = sys_getpid();
	asked.sandbox = threads_read_signals(asked.pid, sys_gettid(), &own)
				? own.sandbox
				: 0;
	/* Release pairs with answer(): the fields above come with it. */
	atomic_store_release(&asked.slots, slots);
	(void)change_action(nr, &action, &before);
	all_answered =
		wait_for_answers(slots, threads->count, ask(threads, tids, nr));
	if (stop_asking(nr, &before, all_answered)) {
		keep_answers(threads, slots);
		sys_unmap(slots, size_bytes);
	} /* else a handler was stopped in the middle: the slots stay mapped */
}
