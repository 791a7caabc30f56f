/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_text.c - what stands around the figures of a text profile; see
 * dump_text.h.
 *
 * Comments begin with "# ", which all readers skip. A line each, NAME = VALUE,
 * as Go's runtime/pprof has them.
 */
#include "dump_text.h"

#include <errno.h>
#include <string.h>

#include "heap_profile_text.h"
#include "log.h"
#include "region.h"
#include "sys.h"
#include "thread_profile_text.h"
#include "unseen.h"

/* proc_pid_status(5): some 60 lines; the lists of CPUs come last. */
#define STATUS_MAX 4096

static void
put_number(struct text *out, const char *name, uint64_t value)
{
	text_put(out, "# ");
	text_put(out, name);
	text_put(out, " = ");
	text_number(out, value);
	text_put(out, "\n");
}

static void
put_string(struct text *out, const char *name, const char *value)
{
	text_put(out, "# ");
	text_put(out, name);
	text_put(out, " = ");
	text_put_clean(out, value);
	text_put(out, "\n");
}

/* The lines of a status file whose names begin so: "VmRSS:     1234 kB". */
static void
put_status(struct text *out, const char *path, const char *prefix)
{
	char status[STATUS_MAX];
	char *line, *end;

	if (sys_read_file(path, status, sizeof(status)) <= 0)
		return;
	for (line = status; *line != '\0'; line = end) {
		char *colon = line + strcspn(line, ":\n");
		const char *value = colon + 1;

		end = line + strcspn(line, "\n");
		if (*end != '\0')
			*end++ = '\0';
		if (*colon != ':' || strncmp(line, prefix, strlen(prefix)) != 0)
			continue;
		*colon = '\0';
		put_string(out, line, value + strspn(value, " \t"));
	}
}

/*
 * Its memory is this thread's own, also in the dump child, and remains when
 * the process's first thread has ended.
 */
static void
put_process(struct text *out, int pid)
{
	static const char own[] = "/proc/thread-self/status";
	char path[32];

	put_status(out, own, "Vm");
	put_status(out, own, "Rss");
	log_format(path, sizeof(path), "/proc/%d/status", pid);
	put_status(out, path, "Threads");
}

static void
put_comments(struct text *out, const struct dump_text *dump)
{
	const struct dump_moment *moment = dump->moment;
	char command[DUMP_COMMAND_LINE_MAX];

	text_put(out, "\n# heapagent " HEAPAGENT_VERSION "\n");
	put_string(out, "kind", dump->kind);
	if (dump_command_line(command))
		put_string(out, "command", command);
	put_number(out, "time_nanos", moment->realtime_ns);
	put_number(out, "rate", region_header()->rate_bytes);
	put_number(out, "profiled_ms", moment->profiled_ms);
	put_number(out, "samples", moment->samples);
	put_number(out, "stacks", moment->stacks);
	put_number(out, "region_used_bytes", moment->region_used_bytes);
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		put_number(out, counter_name((enum counter)i),
			   moment->counters[i]);
	if (*unseen_text() != '\0')
		put_string(out, "not seen", unseen_text());
	if (moment->threads[0] != '\0')
		put_string(out, "threads", moment->threads);
	if (moment->refusal[0] != '\0')
		put_string(out, "ptrace", moment->refusal);
	put_process(out, dump->pid);
}

int
dump_text_write(const struct dump_text *dump, struct arena *arena, int fd)
{
	struct text *out = text_open(arena, fd);
	struct text_profile *profile =
		out == NULL ? NULL : text_profile_open(arena, out);

	if (profile == NULL)
		return -ENOMEM;
	if (dump->rows != NULL)
		heap_profile_text_write(profile, dump->rows,
					region_header()->rate_bytes);
	else
		thread_profile_text_write(profile, dump->threads);
	put_comments(out, dump);
	text_profile_build_ids(profile);
	/* Each is the line that its readers know; none knows both. */
	text_put(out, dump->rows != NULL ? "\nMAPPED_LIBRARIES:\n"
					 : "\n--- Memory map: ---\n");
	text_profile_mappings(profile);
	return text_close(out);
}
