/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_blocked.c - a blocked thread read through its syscall file, without
 * stopping it; see threads.h.
 *
 *	switches ─► where it blocks ─► walk ─► where it blocks ─► switches
 *
 * It may wake and go on at any moment. The stack counts only if it did not: the
 * kernel shows the place only of a thread that sleeps, and one that slept at
 * both looks and has run in between was switched away from once more.
 */
#include <linux/futex.h>
#include <string.h>

#include "counters.h"
#include "frame.h"
#include "sys.h"
#include "threads.h"

/* The lines that are asked for are the last, after lists of processors. */
#define STATUS_BYTES 8192

/* A thread that keeps moving is given up after so many walks. */
#define TRIES 4

static uint64_t
number_after(const char *status, const char *name)
{
	const char *p = strstr(status, name);
	uint64_t value = 0;

	if (p == NULL)
		return 0;
	for (p += strlen(name); *p == ' ' || *p == '\t'; p++)
		;
	for (; *p >= '0' && *p <= '9'; p++)
		value = value * 10 + (unsigned)(*p - '0');
	return value;
}

/* How often the thread was switched away from; 0: not known. */
static uint64_t
switches(const struct threads *threads, int tid)
{
	char status[STATUS_BYTES];

	if (threads_read_file(threads->pid, tid, "status", status,
			      sizeof(status)) <= 0)
		return 0;
	/* A thread that blocks has been switched away from at least once. */
	return number_after(status, "\nvoluntary_ctxt_switches:") +
	       number_after(status, "\nnonvoluntary_ctxt_switches:");
}

static bool
is_futex_wait(const struct thread_call *call)
{
	int command = (int)call->arguments[1] & FUTEX_CMD_MASK;

	return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
}

/*
 * True if the call goes on after a stop, for whatever it waits: the kernel
 * restarts it or has kept what remains of its time, or it is made again
 * (threads_ptrace.c). Of calls that a driver or a file system serves nobody
 * knows. Where the kernel writes what remains to the program's memory, it says
 * EINTR if it cannot.
 */
static bool
is_deaf(const struct thread_call *call)
{
	switch (call->nr) {
	case SYS_pause:
	case SYS_poll:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_wait4:
	case SYS_waitid:
		return true;
	case SYS_futex:
		return is_futex_wait(call);
	case SYS_ppoll:
		return call->arguments[2] == 0;
	case SYS_select:
	case SYS_pselect6:
		return call->arguments[4] == 0;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int)call->arguments[3] < 0;
	default:
		return false;
	}
}

static bool
better_not_stopped(const struct threads *threads,
		   const struct thread_record *record)
{
	const struct thread_call *call = &record->call;

	return call->known &&
	       (!threads->may_stop || record->late || !is_deaf(call) ||
		strcmp(record->state, "sleeping") != 0);
}

/* True if the thread has not run since before, when it was at this call. */
static bool
is_where_it_was(const struct threads *threads,
		const struct thread_record *record, uint64_t before)
{
	struct thread_record now = *record;

	threads_read_call(threads, &now);
	return now.call.known &&
	       threads_is_same_call(&now.call, &record->call) &&
	       switches(threads, record->tid) == before;
}

/* Reads it as long as it fits. False: it does not. */
static bool
read_unstopped(struct threads *threads, struct thread_record *record,
	       bool (*fits)(const struct threads *,
			    const struct thread_record *))
{
	uint64_t frames[UNWIND_FRAMES_MAX];
	unsigned count = 0;
	bool certain = false;

	for (unsigned i = 0; i < TRIES && !certain; i++) {
		uint64_t before = switches(threads, record->tid);
		struct unwind_registers registers = { .exact = true };

		threads_describe(threads, record);
		if (!fits(threads, record))
			return false;
		registers.ip = record->call.ip;
		registers.sp = record->call.sp;
		count = threads_walk_into(threads, frames, &registers, 0);
		certain =
			before != 0 && is_where_it_was(threads, record, before);
	}
	if (!certain && count > 1) {
		frames[1] = FRAME_UNCERTAIN;
		count = 2;
	}
	if (frames[count - 1] == FRAME_UNCERTAIN)
		counter_add(COUNTER_threads_uncertain);
	threads_keep(threads, record, frames, count);
	counter_add(COUNTER_threads_by_syscall_file);
	return true;
}

static bool
is_blocked(const struct threads *threads, const struct thread_record *record)
{
	(void)threads;
	return record->call.known;
}

bool
threads_read_call_site(struct threads *threads, struct thread_record *record)
{
	return read_unstopped(threads, record, is_blocked);
}

bool
threads_read_blocked(struct threads *threads, struct thread_record *record)
{
	return better_not_stopped(threads, record) &&
	       read_unstopped(threads, record, better_not_stopped);
}
