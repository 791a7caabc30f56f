/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_clock.c - since when a thread has been blocked, by the scheduler's
 * own figures; see threads.h.
 *
 * A thread's sched file says when it left its processor, by that processor's
 * clock of tasks (rq_clock_task() in the kernel's kernel/sched/sched.h). That
 * clock stands still while interrupts run or the processor is lent to another
 * virtual machine, where the kernel accounts for such, so two processors'
 * differ by what each has lost so:
 *
 *	clock of P = common clock - away(P)
 *
 * Our own sched file, read while we run, tells what our processor's clock is
 * now. For a thread of another processor, the most that the two may differ by
 * is taken off, by what /proc/stat has counted. So the time is never more than
 * the truth. (To go to each processor and read its clock there would be
 * exact, but on one that a real-time thread keeps we would never wake up.)
 */
#include <string.h>

#include "compiler.h"
#include "sys.h"
#include "threads_parse.h"

/* Processors of higher numbers: no time by the clock for what ran there. */
#define CPUS_MAX 1024
/* "cpu1023 " and ten numbers. */
#define CPU_LINE_BYTES 128
/* Up to nr_voluntary_switches; statistics (kernel.sched_schedstats) come
 * before it: some 30 lines of 65 characters. */
#define SCHED_BYTES 4096
#define TICK_NS UINT64_C(10000000) /* of /proc/stat: USER_HZ is 100 */
#define ROUNDED_TICKS 4		   /* what four counts of it may lack */
#define READS_MAX 4		   /* we are seldom moved between two calls */

struct thread_clock {
	bool known;
	unsigned cpu;		/* whose clock it is */
	uint64_t read_ns;	/* CLOCK_MONOTONIC, when it was read */
	uint64_t behind_ns;	/* CLOCK_MONOTONIC less that clock, modulo */
	struct cpu_away *aways; /* CPUS_MAX, or NULL */
	uint64_t apart_ns;	/* any two processors' clocks, at most */
};

size_t
threads_clock_arena_bytes(void)
{
	return sizeof(struct thread_clock) +
	       CPUS_MAX * (sizeof(struct cpu_away) + CPU_LINE_BYTES) +
	       3 * CACHE_LINE;
}

/* CPUS_MAX or above: not known. */
static unsigned
current_cpu(void)
{
	unsigned cpu = CPUS_MAX;

	(void)sys_call3(SYS_getcpu, &cpu, NULL, NULL);
	return cpu;
}

static void
read_own(struct thread_clock *clock)
{
	struct thread_schedule own;
	char text[SCHED_BYTES];

	for (unsigned i = 0; i < READS_MAX && !clock->known; i++) {
		/* What the file has of us is as old as our last turn. */
		(void)sys_call0(SYS_sched_yield);
		clock->cpu = current_cpu();
		if (clock->cpu >= CPUS_MAX ||
		    sys_read_file("/proc/thread-self/sched", text,
				  sizeof(text)) <= 0 ||
		    !threads_parse_sched(text, &own))
			return;
		clock->read_ns = sys_clock_ns(CLOCK_MONOTONIC);
		clock->behind_ns = clock->read_ns - own.exec_start_ns;
		clock->known = current_cpu() == clock->cpu;
	}
}

static uint64_t
most_apart(const struct cpu_away *list)
{
	struct cpu_away least = { .interrupts_ticks = UINT64_MAX,
				  .stolen_ticks = UINT64_MAX };
	struct cpu_away most = { .known = false };

	for (unsigned i = 0; i < CPUS_MAX; i++) {
		uint64_t interrupts = list[i].interrupts_ticks;
		uint64_t stolen = list[i].stolen_ticks;

		if (!list[i].known)
			continue;
		most.known = true;
		least.interrupts_ticks =
			MIN(least.interrupts_ticks, interrupts);
		most.interrupts_ticks = MAX(most.interrupts_ticks, interrupts);
		least.stolen_ticks = MIN(least.stolen_ticks, stolen);
		most.stolen_ticks = MAX(most.stolen_ticks, stolen);
	}
	if (!most.known)
		return UINT64_MAX;
	return (most.interrupts_ticks - least.interrupts_ticks +
		most.stolen_ticks - least.stolen_ticks + ROUNDED_TICKS) *
	       TICK_NS;
}

static void
read_away(struct thread_clock *clock, struct arena *arena)
{
	size_t size_bytes = (size_t)CPUS_MAX * CPU_LINE_BYTES;
	struct cpu_away *list = arena_alloc(arena, CPUS_MAX * sizeof(*list));
	char *text = arena_alloc(arena, size_bytes);

	clock->apart_ns = UINT64_MAX;
	if (list == NULL || text == NULL ||
	    sys_read_file("/proc/stat", text, size_bytes) <= 0)
		return;
	threads_parse_away(text, list, CPUS_MAX);
	clock->aways = list;
	clock->apart_ns = most_apart(list);
}

/* The dump's clock; NULL if there is none. */
static const struct thread_clock *
clock_of(struct threads *threads)
{
	if (threads->clock == NULL) {
		threads->clock =
			arena_alloc(threads->arena, sizeof(*threads->clock));
		if (threads->clock == NULL)
			return NULL;
		read_own(threads->clock);
		if (threads->clock->known)
			read_away(threads->clock, threads->arena);
	}
	return threads->clock->known ? threads->clock : NULL;
}

/* By how much the other's clock may be behind ours, at most. False: nobody
 * knows. */
static bool
most_behind(const struct thread_clock *clock, unsigned cpu, uint64_t *behind_ns)
{
	const struct cpu_away *ours, *other;
	uint64_t ticks = ROUNDED_TICKS;

	*behind_ns = 0;
	if (cpu == clock->cpu)
		return true;
	if (clock->aways == NULL || cpu >= CPUS_MAX)
		return false;
	ours = &clock->aways[clock->cpu];
	other = &clock->aways[cpu];
	/* One by one: the kernel's clock may know of either or none. */
	ticks += other->stolen_ticks -
		 MIN(ours->stolen_ticks, other->stolen_ticks);
	ticks += other->interrupts_ticks -
		 MIN(ours->interrupts_ticks, other->interrupts_ticks);
	*behind_ns = ticks * TICK_NS;
	return ours->known && other->known;
}

bool
threads_read_wait(struct threads *threads, struct thread_record *record,
		  unsigned cpu)
{
	const struct thread_clock *clock = clock_of(threads);
	struct thread_wait *wait = &record->wait;
	struct thread_schedule schedule;
	char text[SCHED_BYTES];
	uint64_t behind_ns, since_ns;

	wait->known = threads_read_file(threads->pid, record->tid, "sched",
					text, sizeof(text)) > 0 &&
		      threads_parse_sched(text, &schedule);
	wait->seen_ns = sys_clock_ns(CLOCK_MONOTONIC);
	wait->since_ns = wait->seen_ns;
	if (!wait->known)
		return true;
	wait->switches = schedule.switches;
	/* 0: it was moved, and has not run since. */
	if (clock == NULL || schedule.exec_start_ns == 0 ||
	    !most_behind(clock, cpu, &behind_ns))
		return true;
	since_ns = schedule.exec_start_ns + clock->behind_ns;
	/* What was lost since the clock was read is not known. */
	if (since_ns + behind_ns < clock->read_ns)
		wait->since_ns = since_ns + behind_ns;
	return clock->read_ns - since_ns > clock->apart_ns;
}
