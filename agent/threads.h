/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.h - the host's threads: their names, what they do, their stacks.
 *
 *	list ─► by ptrace   (threads_ptrace.c) from the dump child: the thread
 *	     │              stops for some 30 us and does not notice
 *	     ├► by file     (threads_blocked.c) a thread blocked in a system
 *call that │              would notice is read without stopping it └► by signal
 *(threads_signal.c) from a thread of the host, where ptrace is refused
 *
 * Everything lies in the dump's arena. A thread that ended meanwhile is left
 * out; one that gave no stack in time is reported as not answering.
 */
#ifndef HEAPAGENT_THREADS_H
#define HEAPAGENT_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

struct thread_record {
	int tid;
	char name[THREAD_NAME_MAX];
	const char *state; /* a constant: what it did when described; NULL */
	struct thread_call call; /* at the same time */
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
 * Reads a thread's name, state and call: three small files, of some 12 us
 * together, so only the first thread's are read while it waits. [dump]
 */
void threads_describe(const struct threads *threads,
		      struct thread_record *record);
/* The same for those that have not been described. [dump] */
void threads_describe_rest(struct threads *threads);

/* Walks from the registers and keeps the stack in the record. [dump] */
void threads_walk(struct threads *threads, struct thread_record *record,
		  const struct unwind_registers *registers,
		  uintptr_t thread_pointer);

/*
 * Walks the stack of a thread that had better not be stopped, from where the
 * description saw it blocked: one whose call would notice and could not be made
 * again as it is, and one that would stop only after a sleep that nothing
 * interrupts. False: stop it. [dump]
 */
bool threads_read_blocked(struct threads *threads,
			  struct thread_record *record);

/* Reads the stacks of all records that have none yet, by file and by ptrace.
 * Only in a process of its own. [dump] */
void threads_capture(struct threads *threads);

/* Marks those that have no stack, and have been described, as not answering.
 * [dump] */
void threads_give_up(struct threads *threads);

/*
 * Whether this process may stop the thread, found out by doing so, once. [dump]
 */
bool threads_may_stop(int tid);

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
