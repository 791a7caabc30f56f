/* SPDX-License-Identifier: Apache-2.0 */
/* dump_comments.c - what a dump says of itself; see dump_comments.h. */
#include "dump_comments.h"

#include <stddef.h>
#include <string.h>

#include "log.h"
#include "region.h"
#include "resume.h"
#include "sys.h"
#include "unseen.h"

/*
 * A counter takes 30 letters and 20 digits at most. Comments of counters begin
 * with '#': pprof draws the others into its graphs and prints them above its
 * tables.
 */
#define COMMENT_MAX (52 * COUNTER_COUNT)
#define EXECUTABLE_INFO "executableInfo="

void
dump_moment_take(struct dump_moment *moment, const struct heap_rows *rows)
{
	moment->realtime_ns = sys_clock_ns(CLOCK_REALTIME);
	moment->profiled_ms = (sys_clock_ns(CLOCK_MONOTONIC) -
			       region_header()->start_monotonic_ns) /
			      1000000;
	moment->samples = 0;
	for (unsigned i = 0; i < rows->count; i++)
		moment->samples += rows->rows[i].allocated.objects;
	moment->stacks = rows->count;
	moment->region_used_bytes = region_used_bytes();
}

void
dump_moment_count(struct dump_moment *moment, const struct threads *threads)
{
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		moment->counters[i] = counter_value((enum counter)i);
	if (threads == NULL)
		return;
	threads_tell_how(threads, moment->threads, sizeof(moment->threads));
	threads_tell_refusal(threads, moment->refusal, sizeof(moment->refusal));
}

bool
dump_command_line(char text[DUMP_COMMAND_LINE_MAX])
{
	/*
	 * The arguments lie in the memory that this thread has, of the process
	 * or of the dump child; the process's first thread may have ended and
	 * have none.
	 */
	ssize_t length = sys_read_file("/proc/thread-self/cmdline", text,
				       DUMP_COMMAND_LINE_MAX);

	while (length > 0 && text[length - 1] == '\0')
		length--;
	if (length <= 0)
		return false;
	text[length] = '\0';
	for (ssize_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ')
			text[i] = ' ';
	return true;
}

static void
write_command_line(struct pprof *pprof)
{
	char text[DUMP_COMMAND_LINE_MAX];

	if (!dump_command_line(text))
		return;
	/* Parca takes such a comment for its own, and refuses the profile. */
	if (strncmp(text, EXECUTABLE_INFO, strlen(EXECUTABLE_INFO)) == 0)
		text[0] = 'E';
	pprof_comment(pprof, text);
}

/* Appends " name=value", and "# " before the first. */
static size_t
put_number(char *text, size_t used, const char *name, uint64_t value)
{
	return used + log_format(text + used, COMMENT_MAX - used, "%s%s=%llu",
				 used == 0 ? "# " : " ", name,
				 (unsigned long long)value);
}

static void
write_totals(struct pprof *pprof, const struct dump_moment *moment)
{
	char text[COMMENT_MAX];
	size_t used = 0;

	used = put_number(text, used, "rate", region_header()->rate_bytes);
	used = put_number(text, used, "profiled_ms", moment->profiled_ms);
	used = put_number(text, used, "samples", moment->samples);
	used = put_number(text, used, "stacks", moment->stacks);
	(void)put_number(text, used, "region_used_bytes",
			 moment->region_used_bytes);
	pprof_comment(pprof, text);
}

static void
write_counters(struct pprof *pprof, const struct dump_moment *moment)
{
	char text[COMMENT_MAX];
	size_t used = 0;

	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		used = put_number(text, used, counter_name((enum counter)i),
				  moment->counters[i]);
	pprof_comment(pprof, text);
}

/* Begins with "#", so that no other tool takes it for a title. */
static void
write_unseen(struct pprof *pprof)
{
	char text[288];

	if (*unseen_text() == '\0')
		return;
	log_format(text, sizeof(text), "# not seen: %s", unseen_text());
	pprof_comment(pprof, text);
}

static void
write_resume(struct pprof *pprof)
{
	const char *why = resume_refusal();
	char text[128];

	if (why == NULL)
		return;
	log_format(text, sizeof(text), "# interrupted calls do not go on: %s",
		   why);
	pprof_comment(pprof, text);
}

static void
write_threads(struct pprof *pprof, const char *what, const char *how)
{
	char text[DUMP_THREADS_MAX + 16];

	if (*how == '\0')
		return;
	log_format(text, sizeof(text), "%s: %s", what, how);
	pprof_comment(pprof, text);
}

void
dump_comments_write(struct pprof *pprof, const struct dump_moment *moment)
{
	pprof_comment(pprof, "heapagent " HEAPAGENT_VERSION);
	write_command_line(pprof);
	write_totals(pprof, moment);
	write_counters(pprof, moment);
	write_unseen(pprof);
	write_resume(pprof);
	write_threads(pprof, "threads", moment->threads);
	write_threads(pprof, "ptrace", moment->refusal);
}
