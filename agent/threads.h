/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.h - the host's threads: their names, what they do, their stacks.
 *
 *	list ─► by ptrace   threads_ptrace.c: from the dump child; the thread
 *	     │              stops for some 30 us and does not notice
 *	     ├► by file     threads_blocked.c: not stopped, where it would
 *	     │              notice, or cannot be stopped
 *	     └► by signal   threads_signal.c: from a thread of the host, where
 *	                    ptrace is refused
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
	THREAD_LATE, /* asked to stop, has not yet */
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
	int signal;		    /* that threads were asked by; 0: none */
	struct thread_clock *clock; /* in the arena; NULL: not read yet */
	void *recovery; /* for walks without fp; NULL: none so far */
};

/* How many threads the process has, about. 1 if that cannot be read. */
unsigned threads_count(int pid);
/* What a capture of count threads takes from the arena, at most. */
size_t threads_arena_bytes(unsigned count, unsigned depth);

/*
 * Lists the threads of threads->pid, which, like arena, depth and method, the
 * caller has set. 0 or a negative errno, with what was found. [dump]
 */
int threads_list(struct threads *threads);

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
 * Walks the stack of a thread that had better not be stopped, from where the
 * description saw it blocked: one whose call would notice and could not be made
 * again as it is, and one that would stop only after a sleep that nothing
 * interrupts. What it did meanwhile is not in it: if it moved, so little is
 * kept as is certain. False: stop it. [dump]
 */
bool threads_read_blocked(struct threads *threads,
			  struct thread_record *record);
/* The same for any that was seen blocked in a call. False: it was not. [dump]
 */
bool threads_read_call_site(struct threads *threads,
			    struct thread_record *record);

/*
 * True if a thread that is blocked in the call would notice a handler of ours:
 * it would end early, begin its time-out anew, or return the part that it has
 * done. True, too, if that cannot be found out. [dump]
 */
bool threads_would_notice(int pid, const struct thread_call *call);

/* Reads the stacks of all records that have none yet, by file and by ptrace,
 * for as long as that. Only in a process of its own. [dump] */
void threads_capture(struct threads *threads, uint64_t timeout_ns);

/* Reads those that ptrace was refused for where they are blocked, or stopped,
 * without a stop of ours. [dump] */
void threads_read_refused(struct threads *threads);

/* Marks those that have no stack, and have been described, as not answering.
 * [dump] */
void threads_give_up(struct threads *threads);

/*
 * Whether this process may stop the thread, found out by doing so, once. [dump]
 */
bool threads_may_stop(struct threads *threads, struct thread_record *record);

/* True if it was a zombie when it was described. [dump] */
bool threads_is_dead(const struct thread_record *record);
/* True if the thread is not there any more, or as a zombie only. [dump] */
bool threads_has_ended(struct threads *threads, int tid);

/*
 * Stops the thread, walks its stack into the record, and lets it go. One that
 * does not stop in time is left to threads_read_late(). [dump]
 */
void threads_stop_and_walk(struct threads *threads,
			   struct thread_record *record);

/* So many may be late at a time; more would not be let go before the end. */
#define THREADS_LATE_MAX 64

/* Does so with those that have stopped after their time; how many there still
 * are. The end of this process lets go of all. [dump] */
unsigned threads_read_late(struct threads *threads);

/* From now on they are let go only, not read. [dump] */
void threads_forget_late(void);

/*
 * Sends a real-time signal to each thread of the list, in whose handler it
 * walks its own stack, and waits for them, some 100 ms at most. Runs in a
 * thread of the host, with all signals blocked. [signal]
 */
void threads_ask_by_signal(struct threads *threads);

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
};
/* From the thread's status file. False if it cannot be read. [any] */
bool threads_read_signals(int pid, int tid, struct thread_signals *signals);

#endif
