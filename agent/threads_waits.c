/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_waits.c - who waited for what in the last dump; see threads.h.
 *
 * Reading a thread wakes it for an instant, and it blocks anew. By the
 * kernel's figures its wait begins there. It is still the same wait if the
 * thread is in the same call, at the same place, and has given up its
 * processor as often as our reading makes it, and no more.
 *
 * The table is in the region. A thread's entry is the one of its number, modulo
 * the table's size, or one of the next few: threads that were made one after
 * the other have numbers that follow each other, so they do not meet. What is
 * not of the last dump is free. One dump runs at a time, so plain memory does.
 */
#include <errno.h>
#include <string.h>

#include "counters.h"
#include "region.h"
#include "sys.h"
#include "threads.h"

/* A 128th of the region: 8,192 threads in one of 64 MiB. */
#define REGION_BYTES_PER_WAIT 8192
#define WAITS_MIN 512
#define PROBES 16

struct wait {
	uint32_t tid;
	uint32_t dump; /* which saw it; 0: none */
	uint64_t start_ticks;
	int64_t nr;
	uint64_t sp;
	uint64_t ip;
	uint64_t switches; /* when our reading will be over */
	uint64_t since_ns;
};

static struct {
	/* Immutable after threads_waits_init(). */
	struct wait *table;
	uint32_t mask;
	/* The dump's own: one runs at a time. */
	uint32_t dump; /* number of the last one */
} waits;

int
threads_waits_init(void)
{
	uint64_t want = region_header()->size_bytes / REGION_BYTES_PER_WAIT;
	uint32_t capacity = WAITS_MIN;

	while (capacity < want && capacity < UINT32_C(1) << 20)
		capacity *= 2;
	waits.mask = capacity - 1;
	waits.table = region_table("waits", sizeof(*waits.table), capacity,
				   CACHE_LINE);
	return waits.table == NULL ? -ENOMEM : 0;
}

static struct wait *
entry_at(const struct thread_record *record, unsigned probe)
{
	return &waits.table[((uint32_t)record->tid + probe) & waits.mask];
}

static const struct wait *
find(const struct thread_record *record)
{
	for (unsigned i = 0; i < PROBES; i++) {
		const struct wait *wait = entry_at(record, i);

		if (wait->dump == waits.dump && waits.dump != 0 &&
		    wait->tid == (uint32_t)record->tid &&
		    wait->start_ticks == record->wait.start_ticks)
			return wait;
	}
	return NULL;
}

static bool
is_same(const struct wait *wait, const struct thread_record *record)
{
	const struct thread_call *call = &record->call;

	if (wait->switches != record->wait.switches)
		return false;
	/* A call that was interrupted may go on under this name. */
	return (wait->nr == call->nr || call->nr == SYS_restart_syscall) &&
	       wait->sp == call->sp && wait->ip == call->ip;
}

static void
recall(struct thread_record *record)
{
	const struct wait *before = find(record);

	if (before == NULL || !is_same(before, record))
		return;
	if (before->since_ns < record->wait.since_ns)
		record->wait.since_ns = before->since_ns;
	record->call.nr = before->nr;
}

/* False: there is no room. */
static bool
remember(const struct thread_record *record)
{
	for (unsigned i = 0; i < PROBES; i++) {
		struct wait *wait = entry_at(record, i);

		if (wait->dump == waits.dump)
			continue;
		*wait = (struct wait){
			.tid = (uint32_t)record->tid,
			.dump = waits.dump,
			.start_ticks = record->wait.start_ticks,
			.nr = record->call.nr,
			.sp = record->call.sp,
			.ip = record->call.ip,
			.switches =
				record->wait.switches + record->wait.disturbed,
			.since_ns = record->wait.since_ns,
		};
		return true;
	}
	return false;
}

void
threads_waits_recall(struct threads *threads)
{
	for (unsigned i = 0; i < threads->count; i++)
		if (threads->records[i].wait.known)
			recall(&threads->records[i]);
	/* From here on all that is in the table is free. */
	waits.dump++;
	for (unsigned i = 0; i < threads->count; i++)
		if (threads->records[i].wait.known &&
		    !remember(&threads->records[i]))
			counter_add(COUNTER_waits_dropped);
}
