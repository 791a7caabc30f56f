/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_state.c - a thread's name and what it does, from its files in /proc;
 * see threads.h.
 */
#include <string.h>

#include "arch/x86_64_context.h"
#include "restart.h"
#include "threads_parse.h"

#define CALL_BYTES 256
#define STAT_BYTES 1024 /* 52 numbers */

static bool
is(const struct thread_record *record, const char *state)
{
	return strcmp(record->state, state) == 0;
}

bool
threads_is_same_call(const struct thread_call *a, const struct thread_call *b)
{
	return a->known == b->known && a->nr == b->nr && a->sp == b->sp &&
	       a->ip == b->ip;
}

void
threads_read_call(const struct threads *threads, struct thread_record *record)
{
	struct thread_call *call = &record->call;
	char text[CALL_BYTES] = "";

	(void)threads_read_file(threads->pid, record->tid, "syscall", text,
				sizeof(text));
	threads_parse_call(text, call);
	if (call->known)
		call->nr = restart_number(call->nr, call->ip, call->sp);
	/* It was read later than the state. */
	if (is(record, "sleeping") && strcmp(text, "running\n") == 0)
		record->state = "running";
	else if (is(record, "running") && call->known)
		record->state = "sleeping";
}

static bool
read_stat(const struct threads *threads, int tid, struct thread_stat *stat)
{
	char text[STAT_BYTES];

	return threads_read_file(threads->pid, tid, "stat", text,
				 sizeof(text)) > 0 &&
	       threads_parse_stat(text, stat);
}

void
threads_describe(struct threads *threads, struct thread_record *record)
{
	struct thread_stat stat = { .name = "", .state = "unknown" }, again;
	bool blocked;

	(void)read_stat(threads, record->tid, &stat);
	memcpy(record->name, stat.name, sizeof(record->name));
	record->state = stat.state;
	threads_read_call(threads, record);
	blocked = is(record, "sleeping") || is(record, "disk-sleep") ||
		  is(record, "stopped");
	if (!blocked)
		return;
	record->wait.start_ticks = stat.start_ticks;
	/* After the call, so that the time is never that of an earlier one. */
	if (!threads_read_wait(threads, record, stat.cpu) &&
	    (!read_stat(threads, record->tid, &again) || again.cpu != stat.cpu))
		record->wait.since_ns = record->wait.seen_ns;
}

struct thread_call
threads_interrupted_call(const ucontext_t *context)
{
	struct arch_call call = arch_context_call(context);
	long nr = restart_interrupted(context);
	struct thread_call of_thread = {
		.known = nr >= 0,
		.nr = nr,
		.sp = call.sp,
		.ip = call.ip,
	};

	memcpy(of_thread.arguments, call.arguments, sizeof(call.arguments));
	return of_thread;
}

void
threads_describe_origin(const struct threads *threads,
			struct thread_record *record,
			const struct thread_call *call)
{
	/* The file ends the name with a line end. */
	char name[THREAD_NAME_MAX + 1] = "";
	long length = threads_read_file(threads->pid, record->tid, "comm", name,
					sizeof(name));

	if (length > 0)
		name[length - 1] = '\0';
	memcpy(record->name, name, sizeof(record->name) - 1);
	record->state = call->known ? "sleeping" : "running";
	record->call = *call;
}

void
threads_describe_rest(struct threads *threads)
{
	for (unsigned i = 0; i < threads->count; i++)
		if (threads->records[i].state == NULL)
			threads_describe(threads, &threads->records[i]);
}
