/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_parse.h - what the texts of a thread's files in /proc say.
 *
 * Functions of their arguments alone. A thread's name stands in two of these
 * texts as it is and may hold anything, line ends included, so it is never
 * searched for anything else. [any]
 */
#ifndef HEAPAGENT_THREADS_PARSE_H
#define HEAPAGENT_THREADS_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "threads.h"

/* proc_pid_stat(5). */
struct thread_stat {
	char name[THREAD_NAME_MAX];
	const char *state; /* a constant: "sleeping" */
	uint64_t start_ticks;
	unsigned cpu; /* where it last ran */
};
bool threads_parse_stat(const char *text, struct thread_stat *stat);

/* proc_pid_syscall(5): "running", "-1 SP PC" or "NR A1 ... A6 SP PC". */
void threads_parse_call(const char *text, struct thread_call *call);

/* /proc/PID/sched, where the kernel has it. */
struct thread_schedule {
	/* When it last came to or left its processor, by the clock of that
	 * (update_curr() in the kernel's kernel/sched/fair.c). */
	uint64_t exec_start_ns;
	uint64_t switches; /* how often it has left it by itself */
};
bool threads_parse_sched(const char *text, struct thread_schedule *schedule);

/* In proc_stat(5): time that a processor was away from what it ran. */
struct cpu_away {
	bool known;
	uint64_t interrupts_ticks;
	uint64_t stolen_ticks;
};
/* Fills in those of the text's processors that have a place in the list. */
void threads_parse_away(const char *text, struct cpu_away *list,
			unsigned count);

#endif
