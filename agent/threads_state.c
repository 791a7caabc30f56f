/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_state.c - a thread's name and what it does, from its files in /proc;
 * see threads.h.
 */
#include <string.h>

#include "compiler.h"
#include "threads.h"

#define STAT_BYTES 256
#define CALL_BYTES 256

/* The third field of proc_pid_stat(5), after the name in parentheses. */
static const char *
state_word(const char *stat)
{
	static const char *const words[] = {
		['R'] = "running", ['S'] = "sleeping", ['D'] = "disk-sleep",
		['T'] = "stopped", ['t'] = "traced",   ['Z'] = "zombie",
		['X'] = "dead",	   ['I'] = "idle",     ['P'] = "parked",
		['W'] = "waking",
	};
	const char *end = strrchr(stat, ')');
	unsigned letter;

	if (end == NULL || end[1] != ' ')
		return "unknown";
	letter = (unsigned char)end[2];
	if (letter >= ARRAY_SIZE(words) || words[letter] == NULL)
		return "unknown";
	return words[letter];
}

/* One number of the file, decimal or with 0x; *text moves behind it. */
static bool
parse_number(const char **text, uint64_t *value)
{
	const char *p = *text;
	unsigned base = 10;
	const char *begin;

	if (p[0] == '0' && p[1] == 'x') {
		base = 16;
		p += 2;
	}
	*value = 0;
	for (begin = p;; p++) {
		if (*p >= '0' && *p <= '9')
			*value = *value * base + (unsigned)(*p - '0');
		else if (base == 16 && *p >= 'a' && *p <= 'f')
			*value = *value * base + (unsigned)(*p - 'a' + 10);
		else
			break;
	}
	*text = *p == ' ' ? p + 1 : p;
	return p != begin;
}

/*
 * proc_pid_syscall(5): "running", "-1 SP PC" or "NR A1 ... A6 SP PC".
 */
static void
parse_call(const char *text, struct thread_call *call)
{
	uint64_t numbers[9];
	bool in_call = text[0] != '-';
	unsigned expected = in_call ? 9 : 3;

	call->known = false;
	if (!in_call)
		text++;
	for (unsigned i = 0; i < expected; i++)
		if (!parse_number(&text, &numbers[i]))
			return;
	/* cppcheck-suppress uninitvar ; expected is never 0 */
	call->nr = in_call ? (long)numbers[0] : -1;
	if (in_call)
		memcpy(call->arguments, &numbers[1], sizeof(call->arguments));
	call->known = true;
	call->sp = numbers[expected - 2];
	call->ip = numbers[expected - 1];
}

void
threads_describe(const struct threads *threads, struct thread_record *record)
{
	char stat[STAT_BYTES] = "";
	char call[CALL_BYTES] = "";
	char name[THREAD_NAME_MAX + 1] = "";
	size_t length;

	(void)threads_read_file(threads->pid, record->tid, "comm", name,
				sizeof(name));
	(void)threads_read_file(threads->pid, record->tid, "stat", stat,
				sizeof(stat));
	length = strcspn(name, "\n");
	length = MIN(length, sizeof(record->name) - 1);
	memcpy(record->name, name, length);
	record->name[length] = '\0';
	record->state = state_word(stat);
	(void)threads_read_file(threads->pid, record->tid, "syscall", call,
				sizeof(call));
	parse_call(call, &record->call);
}

void
threads_describe_rest(struct threads *threads)
{
	for (unsigned i = 0; i < threads->count; i++)
		if (threads->records[i].state == NULL)
			threads_describe(threads, &threads->records[i]);
}
