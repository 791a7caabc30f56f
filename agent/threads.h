/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.h - the host's threads: their names, what they do, their stacks.
 *
 *	list ─► by ptrace   threads_ptrace.c: one that runs, or waits in a
 *	     │              call known to be deaf to a stop; it stops for some
 *	     │              30 us and does not notice
 *	     ├► by file     threads_blocked.c: any other that is blocked; not
 *	     │              stopped
 *	     └► by signal   threads_signal.c: one that runs, from a thread of
 *	                    the host, where ptrace is refused or not tried
 *
 * Everything lies in the dump's arena. A thread that ended meanwhile is left
 * out; one that gave no stack in time is reported as not answering.
 */
#ifndef HEAPAGENT_THREADS_H
#define HEAPAGENT_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "arena.h"
#include "unwind.h"

#define THREAD_NAME_MAX 16
/* A thread's path in /proc: "/proc/4194304/task/4194304/syscall". */
#define THREAD_PATH_MAX 64

/* What a blocked thread's syscall file says, proc_pid_syscall(5). */
struct thread_call {
	bool known; /* false: it was running, or may not be read */
	long nr;    /* -1: blocked in no system call (a page fault) */
	uint64_t arguments[6];
	uintptr_t sp;
	uintptr_t ip;
};

/* How a thread's stack was come by. */
enum thread_how {
	THREAD_UNREAD,
	THREAD_SELF, /* took the dump's signal */
	THREAD_BY_PTRACE,
	THREAD_BY_FILE,
	THREAD_BY_SIGNAL,
	THREAD_ENDED,
	THREAD_UNANSWERED,
	THREAD_HOWS
};

/* How long a thread has been blocked: threads_clock.c, threads_waits.c. */
struct thread_wait {
	bool known; /* false: it was not blocked, or may not be read */
	/* How often it has blocked for our own reading since it was seen. */
	uint8_t disturbed;
	uint64_t start_ticks; /* the thread's, which its number alone is not */
	uint64_t switches;    /* how often it had given up the processor */
	uint64_t seen_ns;     /* CLOCK_MONOTONIC, like: */
	uint64_t since_ns;    /* at the latest: it may be longer, not less */
};

struct thread_record {
	int tid;
	enum thread_how how;
	int refused; /* the errno with which ptrace was; 0: it was not */
	bool late;   /* it has not stopped in time when it was asked to */
	char name[THREAD_NAME_MAX];
	/* A constant: what the kernel calls what it did when described; NULL */
	const char *state;
	struct thread_call call; /* at the same time */
	struct thread_wait wait;
	/* In the arena, see frame.h. None: the thread has ended. */
	const uint64_t *frames;
	unsigned frame_count;
};

struct threads {
	struct arena *arena;
	int pid; /* of the host */
	struct thread_record *records;
	unsigned count;
	unsigned depth; /* frames kept of each */
	enum unwind_method method;
	int signal;    /* that threads were asked by; 0: none */
	bool may_stop; /* by ptrace */
	int refused;   /* why none may, an errno; 0: see above */
	/* Runs body in a thread of its own, whose end lets go of what it holds,
	 * and ends it after that time. False: there can be none. */
	bool (*run_tracer)(void (*body)(void), uint64_t timeout_ns);
	struct thread_clock *clock; /* in the arena; NULL: not read yet */
	void *recovery; /* for walks without fp; NULL: none so far */
};

/* How many threads the process has, about. 1 if that cannot be read. */
unsigned threads_count(int pid);
/* What a capture of count threads takes from the arena, at most. */
size_t threads_arena_bytes(unsigned count, unsigned depth);

/*
 * Lists the threads of threads->pid, which, like arena, depth, method, may_stop
 * and run_tracer, the caller has set; origin alone (unless that is 0) if they
 * cannot be seen. 0 or a negative errno, with what was found. [dump]
 */
int threads_list(struct threads *threads, int origin);

/*
 * Reads a thread's name, state, call and wait: three small files, of some 5 us
 * each, so none of those is read while it waits. [dump]
 */
void threads_describe(struct threads *threads, struct thread_record *record);
/* The call that a signal took its thread out of. After restart_begin().
 * [signal] */
struct thread_call threads_interrupted_call(const ucontext_t *context);

/* The name alone, of the one that took the signal, in that call or running.
 * [dump] */
void threads_describe_origin(const struct threads *threads,
			     struct thread_record *record,
			     const struct thread_call *call);
/* The same for those that have not been described. [dump] */
void threads_describe_rest(struct threads *threads);

/* True if they are made at the same place; two such calls in a row are, too.
 * [any] */
bool threads_is_same_call(const struct thread_call *a,
			  const struct thread_call *b);

/* The call alone, and the state where the call tells better: a thread of the
 * host may read it where the dump child may not. [dump] */
void threads_read_call(const struct threads *threads,
		       struct thread_record *record);
/* The longest is a system call's name. */
#define THREAD_STATE_MAX 32
/*
 * What a described thread does, in a reader's words: "running", what it is
 * blocked in ("futex wait", "epoll_wait", "page fault"), or why it cannot run
 * ("stopped"). [any]
 */
void threads_state_text(const struct thread_record *record,
			char text[THREAD_STATE_MAX]);

/*
 * Begins record->wait from the scheduler's file of a thread that is blocked
 * and last ran on that processor. False: if it has run on another one since,
 * the time may be wrong. [dump]
 */
bool threads_read_wait(struct threads *threads, struct thread_record *record,
		       unsigned cpu);

/* What the first of these takes from the arena, a part of
 * threads_arena_bytes(). [any] */
size_t threads_clock_arena_bytes(void);

/* The table in the region of what waited for what in the last dump. 0 or
 * -ENOMEM. [init] */
int threads_waits_init(void);
/*
 * Where a thread still waits for what it did in the last dump, that one's
 * earlier time stands; all who wait are remembered for the next. Once a dump,
 * when all are captured. [dump]
 */
void threads_waits_recall(struct threads *threads);
/* How long the thread has been blocked, at least; 0: not known. [any] */
static inline uint64_t
threads_blocked_ns(const struct thread_record *record)
{
	const struct thread_wait *wait = &record->wait;

	return wait->since_ns < wait->seen_ns ? wait->seen_ns - wait->since_ns
					      : 0;
}

/* Walks from the registers: how many frames, threads->depth at most. [dump] */
unsigned threads_walk_into(struct threads *threads, uint64_t *frames,
			   const struct unwind_registers *registers,
			   uintptr_t thread_pointer);

/* Does so and keeps the stack in the record. [dump] */
void threads_walk(struct threads *threads, struct thread_record *record,
		  const struct unwind_registers *registers,
		  uintptr_t thread_pointer);

/*
 * Walks the stack of a blocked thread from where the description saw it,
 * without a stop. What it did meanwhile is not in it: if it moved, so little is
 * kept as is certain. False: it was not blocked. The first reads only what no
 * stop may touch: all but a few calls that go on after one, and a sleep that
 * nothing interrupts. [dump]
 */
bool threads_read_blocked(struct threads *threads,
			  struct thread_record *record);
bool threads_read_call_site(struct threads *threads,
			    struct thread_record *record);

/* Reads the stacks of all records that have none yet, by file and by ptrace,
 * for as long as that. Only in a process of its own. [dump] */
void threads_capture(struct threads *threads, uint64_t timeout_ns);
/* One of them. False if it is still held: only the end of this thread lets go
 * of it. [dump] */
bool threads_capture_one(struct threads *threads, struct thread_record *record,
			 uint64_t timeout_ns);

/* Reads those that ptrace was refused for, or that did not stop in time, where
 * they are blocked or stopped, without a stop of ours. [dump] */
void threads_read_unread(struct threads *threads);

/* Marks those that have no stack, and have been described, as not answering.
 * [dump] */
void threads_give_up(struct threads *threads);

/* Whether this process may stop the thread, found out without doing so. [dump]
 */
bool threads_may_stop(struct threads *threads, struct thread_record *record);

/* Who traces it; 0: no thread of this namespace. [dump] */
int threads_tracer_of(const struct threads *threads, int tid);

/* True if it was a zombie when it was described. [dump] */
bool threads_is_dead(const struct thread_record *record);
/* True if the thread is not there any more, or as a zombie only. [dump] */
bool threads_has_ended(struct threads *threads, int tid);

/*
 * Stops the thread, walks its stack into the record, and lets it go. False if
 * it has not stopped in time, see threads_capture_one(). [dump]
 */
bool threads_stop_and_walk(struct threads *threads,
			   struct thread_record *record, uint64_t timeout_ns);

/*
 * Reads each thread of the list that is blocked, and sends a real-time signal
 * to the others, in whose handler each walks its own stack, and waits for them,
 * some 100 ms at most. Runs in a thread of the host, with all signals blocked,
 * which had blocked these before. [signal]
 */
void threads_ask_by_signal(struct threads *threads, uint64_t blocked);

/*
 * What a dump says of how it came by the stacks, one line each, terminated:
 * "1000 listed: 1 self, 940 by ptrace, 59 by /proc (not stopped)", and "refused
 * for 2 (EPERM, traced by 4711): 2 by signal 63". The second is "" where ptrace
 * was not refused. [dump]
 */
void threads_tell_how(const struct threads *threads, char *text,
		      size_t size_bytes);
void threads_tell_refusal(const struct threads *threads, char *text,
			  size_t size_bytes);

/* Copies frames into the arena and the record. [any] */
void threads_keep(struct threads *threads, struct thread_record *record,
		  const uint64_t *frames, unsigned count);

/* One of a thread's files in /proc as text: its length or -errno. [any] */
long threads_read_file(int pid, int tid, const char *name, char *text,
		       size_t size_bytes);

/* Signal number n is bit n - 1. */
struct thread_signals {
	uint64_t blocked;
	uint64_t pending; /* of the thread and of the process */
	/* The same number, but 0: the same seccomp filters, most likely. */
	uint64_t sandbox;
};
/* From the thread's status file. False if it cannot be read. [any] */
bool threads_read_signals(int pid, int tid, struct thread_signals *signals);

#endif
