/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger.c - the signal handler, and what runs in the dump child for it; see
 * trigger.h.
 *
 * The starter (the thread whose request starts a dump) and the dump talk
 * through one futex word:
 *
 *	WAITING ──► ASKED ──► ASKING ──► WAITING ──► CAPTURED ──► RELEASED
 *	   the dump wants     the starter     it has     the stack    a file
 *	   the threads asked  does so         done so    is taken     is begun
 *
 * The starter waits with a deadline and goes on after it in any case. From
 * CAPTURED on it waits only to be able to say that no file can be made, and
 * not for long: a busy disk takes seconds for one. The dump
 * takes back what it asked for if nobody begins in time; once the starter has
 * begun, it works in the dump's memory, which stays until it is done.
 */
#include "trigger.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>

#include "atomics.h"
#include "compiler.h"
#include "config.h"
#include "counters.h"
#include "dump.h"
#include "dump_child.h"
#include "fork.h"
#include "log.h"
#include "outside.h"
#include "requests.h"
#include "restart.h"
#include "sandbox.h"
#include "surroundings.h"
#include "sys.h"

#define SECOND_NS UINT64_C(1000000000)
/* The interrupted thread never waits longer, whatever happened. */
#define RELEASE_TIMEOUT_NS (5 * SECOND_NS)
/* Several times what creating a file takes where the disk is not busy. */
#define CREATE_TIMEOUT_NS UINT64_C(1000000)
/* The dump waits so long for its starter to have asked the threads. */
#define ASK_TIMEOUT_NS SECOND_NS
/* And so long for a starter that has begun: it may be stopped meanwhile. */
#define ASKING_TIMEOUT_NS (60 * SECOND_NS)
/* When the process is exiting. */
#define END_TIMEOUT_NS (10 * SECOND_NS)
/* The time-out of one wait, after which the child's life is checked. */
#define SLICE_NS UINT64_C(20000000)
#define TURN_SLEEP_NS UINT64_C(50000)

enum { WAITING, ASKED, ASKING, CAPTURED, RELEASED };

static struct {
	struct requests requests;
	uint32_t waiting;   /* atomic, a futex: one of the above */
	uint32_t permitted; /* atomic, a futex: 1 after PR_SET_PTRACER */
	uint32_t attended;  /* atomic: the starter that uses this struct */
	/* Written by the starter before the dump begins. */
	struct dump_origin origin;
	bool permits; /* it says to Yama who may trace it */
	/* Written by the dump before ASKED, and before RELEASED. */
	struct threads *to_ask;
	int error;
	/* Immutable after trigger_init(). */
	bool yama_restricts;
	bool installed;
} trigger;

/* Release pairs with the acquire in wait_while(): what was done before. */
static void
futex_set(uint32_t *word, uint32_t value)
{
	atomic_store_release(word, value);
	(void)sys_call3(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
}

/* Waits while *word is value and the child lives: what it is then. */
static uint32_t
wait_while(uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	uint64_t end_ns = sys_clock_ns(CLOCK_MONOTONIC) + timeout_ns;
	uint64_t now_ns;
	uint32_t now;

	/* Acquire pairs with futex_set(). */
	while ((now = atomic_load_acquire(word)) == value &&
	       dump_child_alive() &&
	       (now_ns = sys_clock_ns(CLOCK_MONOTONIC)) < end_ns)
		sys_futex_wait(word, value, MIN(SLICE_NS, end_ns - now_ns),
			       FUTEX_PRIVATE_FLAG);
	return now;
}

/*
 * In the dump child. Having woken the starter it lets it pass: the kernel often
 * puts who is woken behind the waker on its processor, to wait for the end of
 * its turn, which is that of the dump.
 */
static void
let_starter_pass(uint32_t phase)
{
	futex_set(&trigger.waiting, phase);
	(void)sys_call0(SYS_sched_yield);
}

static void
captured_starter(void)
{
	let_starter_pass(CAPTURED);
}

static void
release_starter(int error)
{
	trigger.error = error;
	let_starter_pass(RELEASED);
}

/*
 * In the dump child: the starter, which uses this dump's memory, does not come
 * back. The memory stays as it is; the next starter waits for this one.
 */
static void
leave_memory(void)
{
	counter_add(COUNTER_dumps_failed);
	dump_leave();
	(void)requests_abandon(&trigger.requests, 0);
	for (;;)
		(void)sys_call1(SYS_exit_group, 1);
}

/* In the dump child: the starter does it, being a thread of the host. */
static void
ask_starter(struct threads *threads, uint64_t blocked)
{
	uint32_t expected = ASKED;

	(void)blocked; /* it knows */
	trigger.to_ask = threads;
	futex_set(&trigger.waiting, ASKED);
	(void)wait_while(&trigger.waiting, ASKED, ASK_TIMEOUT_NS);
	/* Pairs with the same in attend(): one of the two wins. */
	if (atomic_cas_acq_rel(&trigger.waiting, &expected, WAITING))
		return;
	if (wait_while(&trigger.waiting, ASKING, ASKING_TIMEOUT_NS) == ASKING)
		leave_memory();
}

/*
 * Serves all requests there are. For a merged one no thread waits any more. No
 * signal is sent for it: the process may be another program by now.
 */
static void
serve(const struct dump_host *host)
{
	const bool in_host = host->run_tracer == NULL;
	uint64_t served;

	do {
		served = requests_count(&trigger.requests);
		(void)dump_write(&trigger.origin, host);
		trigger.origin.tid = 0;
	} while (!in_host && !requests_end(&trigger.requests, served));
	/* In its own thread the program goes on before the next. */
	if (in_host && requests_abandon(&trigger.requests, served) &&
	    trigger.installed)
		(void)sys_call3(SYS_tgkill, dump_pid(), sys_gettid(),
				config.signal);
}

/* The dump child's body. */
static void
serve_in_child(void)
{
	static const struct dump_host host = {
		.captured = captured_starter,
		.released = release_starter,
		.ask_by_signal = ask_starter,
		.run_tracer = dump_child_beside,
		.read = surroundings_yield,
	};

	if (trigger.permits)
		(void)wait_while(&trigger.permitted, 0, ASK_TIMEOUT_NS);
	serve(&host);
}

/* In the dump child, after a fault: nothing of its work is of use. */
static void
child_faulted(void)
{
	counter_add(COUNTER_dumps_faulted);
	dump_discard();
	(void)requests_abandon(&trigger.requests, 0);
	release_starter(0);
}

static void
released_in_host(int error)
{
	trigger.error = error;
}

/* In the host's thread, on the dump stack. */
static void
serve_in_host(void)
{
	static const struct dump_host host = {
		.released = released_in_host,
		.ask_by_signal = threads_ask_by_signal,
	};

	counter_add(COUNTER_dumps_in_handler);
	serve(&host);
}

/* Lets the child trace this process, where Yama asks for that. */
static void
permit_tracing(void)
{
	if (!trigger.permits)
		return;
	(void)sys_call5(SYS_prctl, PR_SET_PTRACER, dump_child_pid(), 0, 0, 0);
	futex_set(&trigger.permitted, 1);
}

/* The starter's part while the dump goes on: what has failed until it may go
 * on, or 0. */
static int
attend(void)
{
	uint32_t expected = ASKED, now;

	permit_tracing();
	now = wait_while(&trigger.waiting, WAITING, RELEASE_TIMEOUT_NS);
	/* Pairs with the same in ask_starter(). */
	if (now == ASKED &&
	    atomic_cas_acq_rel(&trigger.waiting, &expected, ASKING)) {
		threads_ask_by_signal(trigger.to_ask, trigger.origin.blocked);
		futex_set(&trigger.waiting, WAITING);
	}
	if (now == ASKED)
		now = wait_while(&trigger.waiting, WAITING, RELEASE_TIMEOUT_NS);
	if (now == CAPTURED)
		now = wait_while(&trigger.waiting, CAPTURED, CREATE_TIMEOUT_NS);
	return now == RELEASED ? trigger.error : 0;
}

/* On the starter stack. */
static void
start_on_own_stack(void)
{
	struct sys_oversize oversize;
	int error;

	if (!dump_child_prepare()) {
		/* A child that was stopped for good holds the dump stack. */
		counter_add(COUNTER_dumps_failed);
		(void)requests_abandon(&trigger.requests, 0);
		return;
	}
	/* Relaxed: requests_running() and clone publish them. */
	atomic_store_relaxed(&trigger.waiting, WAITING);
	atomic_store_relaxed(&trigger.permitted, 0);
	trigger.error = 0;
	requests_running(&trigger.requests);
	if (dump_child_start(serve_in_child, child_faulted) != 0) {
		sys_oversize_begin(&oversize);
		dump_child_in_place(serve_in_host);
		sys_oversize_end(&oversize);
		dump_child_unmark();
		error = trigger.error;
	} else {
		error = attend();
	}
	if (error < 0)
		log_late("no dump in %s: %s", config.directory,
			 log_error_text(error));
}

static bool
is_there(int tid)
{
	return sys_call3(SYS_tgkill, dump_pid(), tid, 0) != -ESRCH;
}

/* See requests_take(). */
static bool
is_being_made(int starter)
{
	return starter != 0 ? is_there(starter) : dump_child_alive();
}

/*
 * True if the starter of the dump before has come back, or is gone: the dump
 * ends without it, and it may get the processor late.
 */
static bool
take_turn(void)
{
	uint64_t begin_ns = sys_clock_ns(CLOCK_MONOTONIC);
	uint32_t self = (uint32_t)sys_gettid(), other = 0;

	/* Acquire pairs with the release in start_dump(): the starter stack
	 * and the words are free. */
	while (!atomic_cas_acquire(&trigger.attended, &other, self)) {
		if (!is_there((int)other))
			continue;
		other = 0;
		if (sys_clock_ns(CLOCK_MONOTONIC) - begin_ns >
		    RELEASE_TIMEOUT_NS)
			return false;
		sys_sleep_ns(TURN_SLEEP_NS);
	}
	return true;
}

/* Makes the dump that requests_take() gave to this thread. */
static void
start_dump(const struct dump_origin *origin)
{
	if (!take_turn() || dump_child_init() < 0) {
		counter_add(COUNTER_dumps_failed);
		(void)requests_abandon(&trigger.requests, 0);
		return;
	}
	trigger.origin = *origin;
	/* One that the program has named itself is not replaced. */
	trigger.permits = trigger.yama_restricts && !sandbox_at_start() &&
			  !sandbox_has_ptracer();
	trigger.origin.may_stop = trigger.permits || !(trigger.yama_restricts ||
						       sandbox_at_start());
	dump_child_starter_stack(start_on_own_stack);
	atomic_store_release(&trigger.attended, 0); /* see take_turn() */
}

/* How the host's process would have answered without us. Out of line, because
 * the handler's stack is scarce. */
static COLD void
answer_as_without_us(int signal)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL };

	(void)sigaction(signal, &by_default, NULL);
	(void)sys_call2(SYS_kill, sys_getpid(), signal);
}

/* True if this process is the one that the state here is about. */
static bool
is_own_process(void)
{
	fork_check();
	/* A child of vfork() has our memory, but is another process. */
	return dump_is_own();
}

static uint64_t
blocked_before(const ucontext_t *context)
{
	uint64_t set;

	/* The kernel's part of libc's larger type. */
	memcpy(&set, &context->uc_sigmask, sizeof(set));
	return set;
}

static void
on_signal(int signal, siginfo_t *info, void *context)
{
	int tid;

	(void)info;
	/* First of all: the sandbox may end the program for any call. */
	if (sandbox_is_new()) {
		counter_add(COUNTER_dumps_refused_seccomp);
		return;
	}
	if (!is_own_process())
		return;
	if (!trigger.installed) {
		answer_as_without_us(signal);
		return;
	}
	restart_begin(context);
	tid = sys_gettid();
	if (requests_take(&trigger.requests, tid, is_being_made)) {
		const struct dump_origin origin = {
			.tid = tid,
			.registers = arch_context_registers(context),
			.thread_pointer = arch_thread_pointer(),
			.call = threads_interrupted_call(context),
			.blocked = blocked_before(context),
		};

		start_dump(&origin);
	} else {
		counter_add(COUNTER_dumps_merged);
	}
	/* Last, because it may not return. */
	(void)restart_call(context, RESTART_IS_DIRECT(context));
}

static bool
yama_restricts(void)
{
	char text[8];

	return sys_read_file("/proc/sys/kernel/yama/ptrace_scope", text,
			     sizeof(text)) > 0 &&
	       text[0] == '1';
}

int
trigger_init(void)
{
	struct sigaction action = {
		.sa_sigaction = on_signal,
		.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK,
	};
	struct sigaction before;

	/* If there is no memory now, there may be when a dump begins. */
	(void)dump_child_init();
	restart_init();
	trigger.yama_restricts = yama_restricts();
	log_remember_stream();
	if (config.signal == 0)
		return 0;
	if (sigaction(config.signal, NULL, &before) != 0)
		return -EINVAL;
	if ((before.sa_flags & SA_SIGINFO) != 0 ||
	    before.sa_handler != SIG_DFL) {
		log_info("signal %d is taken: no dumps by signal",
			 config.signal);
		config.signal = 0;
		return 0;
	}
	/* All 64: sigfillset() leaves out those that cancel a thread, which
	 * must not leave in the middle. */
	memset(&action.sa_mask, 0xff, sizeof(action.sa_mask));
	trigger.installed = true;
	if (sigaction(config.signal, &action, NULL) != 0)
		return -EINVAL;
	outside_installed(config.signal, (uintptr_t)on_signal);
	return 0;
}

void
trigger_wait(void)
{
	/* In this order: a sandbox may not even know getpid(). */
	if (dump_child_alive() && !sandbox_is_new() && is_own_process())
		(void)dump_child_wait_gone(END_TIMEOUT_NS);
}

void
trigger_dump_and_wait(void)
{
	uint64_t all = ~UINT64_C(0), mask;

	if (sandbox_is_new()) {
		counter_add(COUNTER_dumps_refused_seccomp);
		return;
	}
	if (!is_own_process())
		return;
	(void)sys_call4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &mask,
			sizeof(all));
	/* One that runs will see the request, and go round once more. */
	if (requests_take(&trigger.requests, sys_gettid(), is_being_made)) {
		const struct dump_origin nobody = { .tid = 0 };

		start_dump(&nobody);
	}
	trigger_wait();
	(void)sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL,
			sizeof(mask));
}

void
trigger_fork_child(void)
{
	requests_reset(&trigger.requests);
	dump_child_forget();
	/* Relaxed: the forked child has one thread. */
	atomic_store_relaxed(&trigger.attended, 0);
	if (!config.children) {
		trigger.installed = false;
		outside_left_alone();
	}
}
