/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_dump.c - `heapagent dump PID`: asks the agent for a dump, waits for
 * its files, and prints their paths.
 *
 * The files of a dump appear in the order threads, allocs, heap, each of them
 * complete, so the last kind that the agent writes says that all are there.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "choose_thread.h"
#include "command.h"
#include "counters.h"
#include "find_agent.h"
#include "memory.h"
#include "options.h"
#include "outside.h"
#include "process.h"
#include "region_view.h"
#include "signals.h"

#define TIMEOUT_DEFAULT_S 30.0
#define TIMEOUT_MAX_S 86400
#define POLL_NS 10000000

/* In the order in which they appear. */
static const struct {
	const char *name;
	unsigned bit;
} kinds[] = {
	{ "threads", PROFILE_THREADS },
	{ "allocs", PROFILE_ALLOCS },
	{ "heap", PROFILE_HEAP },
};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

enum { OPT_TIMEOUT = OPT_OWN, OPT_FORCE };

struct dump_options {
	pid_t pid;
	double timeout_s;
	bool force;
};

static const char *
last_kind(unsigned profiles)
{
	for (size_t i = KIND_COUNT; i-- > 0;)
		if (profiles & kinds[i].bit)
			return kinds[i].name;
	return "heap";
}

/* Cuts ".text" off the end of name; false if it does not end so. */
static bool
cut(char *name, const char *text)
{
	size_t length = strlen(text), have = strlen(name);

	if (have <= length || name[have - length - 1] != '.' ||
	    strcmp(name + have - length, text) != 0)
		return false;
	name[have - length - 1] = '\0';
	return true;
}

/* Cuts the ending of either format off. */
static bool
cut_ending(char *name)
{
	return cut(name, "txt") || (cut(name, "gz") && cut(name, "pb"));
}

/*
 * Takes name apart: SEQ of EXE.PID.SEQ.KIND.pb.gz (or .txt), 0 if it is
 * another's.
 */
static unsigned long
sequence(const char *name, pid_t pid, const char *kind)
{
	char rest[NAME_MAX + 1], number[16];
	unsigned long seq;
	char *dot;

	snprintf(rest, sizeof(rest), "%s", name);
	if (!cut_ending(rest) || !cut(rest, kind))
		return 0;
	dot = strrchr(rest, '.');
	if (!dot || !isdigit((unsigned char)dot[1]))
		return 0;
	seq = strtoul(dot + 1, NULL, 10);
	*dot = '\0';
	snprintf(number, sizeof(number), "%d", (int)pid);
	return cut(rest, number) ? seq : 0;
}

/* Names of last kinds that were there already. */
struct names {
	char **names;
	size_t count, capacity;
};

static bool
are_among(const struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->names[i], name) == 0)
			return true;
	return false;
}

static DIR *
open_dumps(const struct process *process)
{
	char path[CONFIG_PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s%s", process->root, process->directory);
	return opendir(path);
}

/*
 * True if a dump is complete that was not there before, with the part of its
 * names before the kind in stem: of several the first. Not the numbers tell:
 * they begin anew when the process executes another program, and an older
 * process may have had the same number.
 */
static bool
find_dump(const struct process *process, const struct names *before,
	  char stem[NAME_MAX + 1])
{
	const char *kind = last_kind(process->profiles);
	unsigned long found = 0, seq;
	struct dirent *entry;
	DIR *directory = open_dumps(process);

	while (directory && (entry = readdir(directory))) {
		seq = sequence(entry->d_name, process->inner_pid, kind);
		if (!seq || (found && seq > found) ||
		    are_among(before, entry->d_name))
			continue;
		found = seq;
		snprintf(stem, NAME_MAX + 1, "%s", entry->d_name);
		cut_ending(stem);
		stem[strlen(stem) - strlen(kind)] = '\0';
	}
	if (directory)
		closedir(directory);
	return found;
}

static struct names
list_dumps(const struct process *process)
{
	const char *kind = last_kind(process->profiles);
	struct names names = { .count = 0 };
	struct dirent *entry;
	DIR *directory = open_dumps(process);

	while (directory && (entry = readdir(directory))) {
		if (!sequence(entry->d_name, process->inner_pid, kind))
			continue;
		memory_grow(names.names, names.count, names.capacity);
		names.names[names.count++] = memory_string(entry->d_name);
	}
	if (directory)
		closedir(directory);
	return names;
}

static void
print_paths(const struct process *process, const char *stem)
{
	static const char *const endings[] = { "pb.gz", "txt" };
	char path[2 * CONFIG_PATH_MAX];

	for (size_t i = 0; i < 2 * KIND_COUNT; i++) {
		snprintf(path, sizeof(path), "%s%s/%s%s.%s", process->root,
			 process->directory, stem, kinds[i / 2].name,
			 endings[i % 2]);
		if (access(path, F_OK) == 0)
			puts(path);
	}
}

static double
now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int
timed_out(const struct process *process, const struct dump_options *options)
{
	char name[32];

	signals_name(process->signal, name, sizeof(name));
	return command_fail(
		"dump: process %d wrote no dump to %s%s in %g s: it may be "
		"stopped, or use %s for itself, or the agent is off in it%s",
		(int)process->pid, process->root, process->directory,
		options->timeout_s, name,
		process->settings_sure ? ""
				       : " (the directory is a guess: its "
					 "memory may not be read)");
}

/*
 * What the agent says of dumps that failed since *before was read: a failure's
 * status, else 0. Where its memory may not be read it says nothing.
 */
static int
ask_agent(const struct process *process, const struct region_view *before)
{
	struct region_view now = *before;
	struct outside outside = { .dump_error = 0 };
	uint64_t *counters = now.header.counters;
	const int pid = (int)process->pid;

	if (!before->base || region_view_again(&now) ||
	    region_view_table(&now, "outside", &outside, sizeof(outside)))
		return COMMAND_OK;
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		counters[i] -= before->header.counters[i];
	if (counters[COUNTER_dumps_refused_seccomp])
		return command_fail("dump: process %d has put itself in a "
				    "sandbox (seccomp), where the agent makes "
				    "no dumps",
				    pid);
	if (counters[COUNTER_dumps_faulted])
		return command_fail("dump: the dump of process %d ended by a "
				    "fault of its own; the program goes on",
				    pid);
	if (counters[COUNTER_dumps_failed])
		return command_fail("dump: process %d cannot write to %s%s: %s",
				    pid, process->root, process->directory,
				    outside.dump_error < 0
					    ? strerror(-outside.dump_error)
					    : "it says no reason");
	return COMMAND_OK;
}

/* To a thread that it disturbs least, else to the process. */
static int
send_signal(const struct process *process)
{
	pid_t tid = choose_thread(process->pid, process->signal);

	if (tid != 0 && tgkill(process->pid, tid, process->signal) == 0)
		return 0;
	return kill(process->pid, process->signal);
}

/* Asks for a dump and waits for it. */
static int
request(const struct process *process, const struct dump_options *options)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	const double deadline_s = now_s() + options->timeout_s;
	/* Until the command ends. */
	const struct names before = list_dumps(process);
	struct region_view view;
	char stem[NAME_MAX + 1];
	bool ended;
	int status;

	if (region_view_open(&view, process->thread))
		view.base = 0;
	if (send_signal(process) != 0)
		return command_fail("dump: process %d: %m", (int)process->pid);
	do {
		/* Asked before the look, so that the last files are seen. */
		ended = process_ended(process->pid);
		if (find_dump(process, &before, stem)) {
			print_paths(process, stem);
			return COMMAND_OK;
		}
		if (ended)
			return command_fail("dump: process %d ended before its "
					    "dump was complete",
					    (int)process->pid);
		status = ask_agent(process, &view);
		if (status != COMMAND_OK)
			return status;
		nanosleep(&pause, NULL);
	} while (now_s() < deadline_s);
	return timed_out(process, options);
}

/*
 * Whether the signal would come to the agent, who alone knows: /proc tells that
 * somebody catches it. Sent to another's handler it means what the program
 * means by it, which may be its end.
 */
static int
check_handler(const struct process *process, const char *name,
	      struct reason *reason)
{
	const int pid = (int)process->pid;

	switch (process->handler) {
	case HANDLER_AGENTS:
		return 0;
	case HANDLER_ANOTHERS:
		return reason_set(
			reason, -EBUSY,
			"process %d has put a handler of its own over "
			"the agent's, and %s would mean another thing "
			"to it: start it with heapagent run or "
			"HEAPAGENT_SIGNAL=RTMIN+23 (--force sends it "
			"all the same)",
			pid, name);
	case HANDLER_NOT_YET:
		return reason_set(reason, -EBUSY,
				  "the agent in process %d has not begun yet: "
				  "the program is still being loaded",
				  pid);
	case HANDLER_NEVER:
		return reason_set(
			reason, -EBUSY,
			"the agent in process %d does not listen: the "
			"program had %s before it, or is a child that "
			"is left alone; start it with heapagent run",
			pid, name);
	default:
		/* Of those nobody else is known to use one. */
		if (process->signal >= SIGRTMIN)
			return 0;
		return reason_set(
			reason, -EPERM,
			"process %d lets nobody read its memory, so "
			"whether %s would come to the agent is not "
			"known: try as root (--force sends it all the "
			"same)",
			pid, name);
	}
}

/* What speaks against sending the signal: a negative errno, else 0. */
static int
check_signal(const struct process *process, bool force, struct reason *reason)
{
	const int pid = (int)process->pid;
	uint64_t bit;
	char name[32];

	if (process->signal == 0)
		return reason_set(
			reason, -EINVAL,
			"the agent in process %d listens to no signal "
			"(HEAPAGENT_SIGNAL=none)",
			pid);
	bit = UINT64_C(1) << (process->signal - 1);
	signals_name(process->signal, name, sizeof(name));
	if (process->ignored & bit)
		return reason_set(
			reason, -EBUSY,
			"process %d ignores %s: the program has taken "
			"that signal; start it with heapagent run",
			pid, name);
	/* The default action would end the process. */
	if (!(process->caught & bit))
		return reason_set(
			reason, -EBUSY,
			"process %d does not catch %s: the agent is "
			"off in it (HEAPAGENT_CHILDREN=0?) or listens "
			"to another signal",
			pid, name);
	if (process_blocks(process, process->signal))
		return reason_set(reason, -EBUSY,
				  "process %d blocks %s in all its threads",
				  pid, name);
	return force ? 0 : check_handler(process, name, reason);
}

/*
 * Finds the agent, ready for a dump. One that is on its way is waited for: a
 * script starts a program and asks for a dump in its next line.
 */
static int
find_ready(struct process *process, const struct dump_options *options)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	const double deadline_s = now_s() + options->timeout_s;
	bool last = false;
	struct reason reason;
	int error;

	for (;;) {
		error = find_agent_look(process, options->pid, &reason);
		if (!error)
			error = check_signal(process, options->force, &reason);
		if (!error)
			return COMMAND_OK;
		if (last || now_s() > deadline_s)
			return command_fail("dump: %s", reason.text);
		/*
		 * Once more where there is nothing to wait for: the agent may
		 * have come in between what was read first and last.
		 */
		last = process->handler >= HANDLER_AGENTS ||
		       !process_begins(options->pid);
		nanosleep(&pause, NULL);
	}
}

/* The whole text as a positive number up to limit, or -1. */
static double
positive(const char *text, double limit)
{
	char *end;
	double value = strtod(text, &end);

	return end != text && *end == '\0' && value > 0 && value <= limit
		       ? value
		       : -1;
}

static const char *
set(void *context, int key, const char *value)
{
	struct dump_options *options = context;

	if (key == OPT_FORCE) {
		options->force = true;
		return NULL;
	}
	options->timeout_s = positive(value, TIMEOUT_MAX_S);
	return options->timeout_s < 0 ? "a number of seconds up to 86400"
				      : NULL;
}

static int
dump(int argc, char **argv)
{
	static struct process process;
	struct dump_options options = { .timeout_s = TIMEOUT_DEFAULT_S };
	int status = options_read(&command_dump, argc, argv, set, &options);

	if (status == COMMAND_OK)
		status =
			find_agent_pid(&command_dump, argc, argv, &options.pid);
	if (status == COMMAND_OK)
		status = find_ready(&process, &options);
	if (status == COMMAND_OK)
		status = request(&process, &options);
	return status;
}

static const struct option_row own_options[] = {
	{ OPT_TIMEOUT, "timeout", "SECONDS",
	  "how long to wait for the files (30)" },
	{ OPT_FORCE, "force", NULL, "send the signal to whoever catches it" },
	{ .name = NULL },
};

static const struct option_row *const options_of_dump[] = {
	own_options,
	NULL,
};

const struct command command_dump = {
	.name = "dump",
	.arguments = "PID",
	.options = options_of_dump,
	.summary = "Have a running program write its profiles; print their "
		   "paths",
	.run = dump,
};
