/* SPDX-License-Identifier: Apache-2.0 */
/* threads_parse.c - texts of /proc to numbers; see threads_parse.h. */
#include "threads_parse.h"

#include <string.h>

#include "compiler.h"

/* Positions in proc_pid_stat(5), which counts from 1, and in a "cpu" line. */
#define STAT_STATE 3
#define STAT_START 22
#define STAT_CPU 39
#define CPU_IRQ 6
#define CPU_SOFTIRQ 7
#define CPU_STEAL 8
#define NS_DIGITS 6 /* "milliseconds.nanoseconds of one" */

static const char *
state_word(char letter)
{
	static const char *const words[] = {
		['R'] = "running", ['S'] = "sleeping", ['D'] = "disk-sleep",
		['T'] = "stopped", ['t'] = "traced",   ['Z'] = "zombie",
		['X'] = "dead",	   ['I'] = "idle",     ['P'] = "parked",
		['W'] = "waking",
	};
	unsigned at = (unsigned char)letter;

	return at < ARRAY_SIZE(words) && words[at] != NULL ? words[at]
							   : "unknown";
}

/* One number, decimal or with 0x; *text moves behind it and a space. */
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

/* From one field of a line of single spaces to a later one; NULL: there is
 * none. */
static const char *
skip_fields(const char *text, unsigned count)
{
	while (text != NULL && count-- > 0) {
		text = strchr(text, ' ');
		if (text != NULL)
			text++;
	}
	return text;
}

bool
threads_parse_stat(const char *text, struct thread_stat *stat)
{
	const char *open = strchr(text, '(');
	const char *close = strrchr(text, ')'); /* only numbers follow it */
	const char *field;
	uint64_t cpu;
	size_t length;

	if (open == NULL || close == NULL || close < open || close[1] != ' ')
		return false;
	length = (size_t)(close - open) - 1;
	length = MIN(length, sizeof(stat->name) - 1);
	memcpy(stat->name, open + 1, length);
	stat->name[length] = '\0';
	field = close + 2;
	stat->state = state_word(*field);
	field = skip_fields(field, STAT_START - STAT_STATE);
	if (field == NULL || !parse_number(&field, &stat->start_ticks))
		return false;
	field = skip_fields(field, STAT_CPU - STAT_START - 1);
	if (field == NULL || !parse_number(&field, &cpu))
		return false;
	stat->cpu = (unsigned)cpu;
	return true;
}

void
threads_parse_call(const char *text, struct thread_call *call)
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

/* The value of a line "NAME     :     VALUE", or NULL. */
static const char *
find_value(const char *text, const char *name)
{
	size_t length = strlen(name);

	while ((text = strchr(text, '\n')) != NULL) {
		const char *p = ++text;

		if (strncmp(p, name, length) != 0)
			continue;
		p += length;
		p += strspn(p, " ");
		if (*p++ != ':')
			continue;
		p += strspn(p, " ");
		if (*p >= '0' && *p <= '9')
			return p;
	}
	return NULL;
}

bool
threads_parse_sched(const char *text, struct thread_schedule *schedule)
{
	const char *start = find_value(text, "se.exec_start");
	const char *switches = find_value(text, "nr_voluntary_switches");
	uint64_t part;

	if (start == NULL || switches == NULL ||
	    !parse_number(&start, &schedule->exec_start_ns) || *start != '.')
		return false;
	start++;
	if (strspn(start, "0123456789") != NS_DIGITS ||
	    !parse_number(&start, &part))
		return false;
	schedule->exec_start_ns =
		schedule->exec_start_ns * UINT64_C(1000000) + part;
	return parse_number(&switches, &schedule->switches);
}

void
threads_parse_away(const char *text, struct cpu_away *list, unsigned count)
{
	for (; text != NULL; text = strchr(text, '\n')) {
		uint64_t n[CPU_STEAL + 1];
		unsigned i;

		text += *text == '\n';
		if (strncmp(text, "cpu", 3) != 0)
			return;
		text += 3;
		for (i = 0; i < ARRAY_SIZE(n) && parse_number(&text, &n[i]);
		     i++)
			;
		/* The first line is that of all together, the last one may be
		 * cut. */
		if (i < ARRAY_SIZE(n) || text[-1] != ' ' || n[0] >= count)
			continue;
		list[n[0]] = (struct cpu_away){
			.known = true,
			.interrupts_ticks = n[CPU_IRQ] + n[CPU_SOFTIRQ],
			.stolen_ticks = n[CPU_STEAL],
		};
	}
}
