/* SPDX-License-Identifier: Apache-2.0 */
/* dump_comments.c - "name=value", one a comment; see dump_comments.h. */
#include "dump_comments.h"

#include <stddef.h>

#include "log.h"
#include "region.h"
#include "sys.h"

/* A longer command line is cut: it stands in each file. */
#define COMMAND_LINE_MAX 4096
#define COMMENT_MAX 96

void
dump_moment_take(struct dump_moment *moment, const struct heap_rows *rows)
{
	moment->realtime_ns = sys_clock_ns(CLOCK_REALTIME);
	moment->duration_ns = sys_clock_ns(CLOCK_MONOTONIC) -
			      region_header()->start_monotonic_ns;
	moment->samples = 0;
	for (unsigned i = 0; i < rows->count; i++)
		moment->samples += rows->rows[i].allocated.objects;
	moment->stacks = rows->count;
	moment->region_used_bytes = region_used_bytes();
}

void
dump_moment_count(struct dump_moment *moment)
{
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		moment->counters[i] = counter_value((enum counter)i);
}

/* The arguments with spaces between them, on one line. */
static void
write_command_line(struct pprof *pprof, int pid)
{
	char path[32];
	char text[COMMAND_LINE_MAX];
	ssize_t length;

	log_format(path, sizeof(path), "/proc/%d/cmdline", pid);
	length = sys_read_file(path, text, sizeof(text));
	while (length > 0 && text[length - 1] == '\0')
		length--;
	if (length <= 0)
		return;
	text[length] = '\0';
	for (ssize_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ')
			text[i] = ' ';
	pprof_comment(pprof, text);
}

static void
write_number(struct pprof *pprof, const char *name, uint64_t value)
{
	char text[COMMENT_MAX];

	log_format(text, sizeof(text), "%s=%llu", name,
		   (unsigned long long)value);
	pprof_comment(pprof, text);
}

void
dump_comments_write(struct pprof *pprof, const struct dump_moment *moment,
		    int pid)
{
	pprof_comment(pprof, "heapagent " HEAPAGENT_VERSION);
	write_command_line(pprof, pid);
	write_number(pprof, "rate", region_header()->rate_bytes);
	write_number(pprof, "samples", moment->samples);
	write_number(pprof, "stacks", moment->stacks);
	write_number(pprof, "region_used_bytes", moment->region_used_bytes);
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		write_number(pprof, counter_name((enum counter)i),
			     moment->counters[i]);
}
