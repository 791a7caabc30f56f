/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters.h - what went wrong or was left out, by name.
 *
 * The counters live in the region's header, so that a reader of the region
 * has them too, and stand in each profile's comments under these names: the
 * samples_dropped_* say how many samples were dropped and why, dropped_objects
 * and dropped_bytes what they stood for, in the profile's own units. Only
 * rare events are counted, so one relaxed addition each is cheap enough and
 * no line of them is read by a call that is not sampled.
 */
#ifndef HEAPAGENT_COUNTERS_H
#define HEAPAGENT_COUNTERS_H

/* X(identifier, what was counted) - the order is part of the region's format.
 */
#define COUNTERS(X) \
	X(samples_dropped_region_full, "no room left in the region") \
	X(samples_dropped_live_full, "the live table had no free slot") \
	X(samples_dropped_reentrant, "a sample inside a sample") \
	X(samples_dropped_busy, "all sample buffers were taken") \
	X(stacks_truncated_depth, "deeper than HEAPAGENT_DEPTH") \
	X(stacks_truncated_unwind, "the unwinder found no way on") \
	X(modules_dropped, "more libraries than the module table holds") \
	X(dumps_started, "dumps begun") \
	X(dumps_written, "dumps completed") \
	X(dumps_failed, "dumps that wrote no or not all files") \
	X(dumps_merged, \
	  "requests served by one more dump after a running one") \
	X(dumps_faulted, "dump children ended by a fault of their own") \
	X(dumps_refused_seccomp, "dumps refused under the program's sandbox") \
	X(dumps_in_handler, "dumps without a child, clone having failed") \
	X(threads_by_signal, "threads asked by signal, ptrace having failed") \
	X(threads_by_syscall_file, "threads read without stopping them") \
	X(threads_unanswered, "threads that gave no stack in time") \
	X(samples_dropped_small_stack, \
	  "an alternate stack with no room left to walk it") \
	X(waits_dropped, "threads whose wait the next dump will not know of") \
	X(threads_uncertain, \
	  "threads read without stopping them, in part: [uncertain]") \
	X(dropped_objects, "what all dropped samples stood for") \
	X(dropped_bytes, "the same in bytes")

enum counter {
#define COUNTER_ENUM(name, text) COUNTER_##name,
	COUNTERS(COUNTER_ENUM)
#undef COUNTER_ENUM
		COUNTER_COUNT
};

/* Adds one to a counter of the mapped region. [any] */
void counter_add(enum counter counter);
/* Adds a number to it. [any] */
void counter_add_many(enum counter counter, unsigned long long number);
/* The counter's value now. [any] */
unsigned long long counter_value(enum counter counter);
/* The counter's name, a string constant. [any] */
const char *counter_name(enum counter counter);

#endif
