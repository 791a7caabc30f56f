/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_status.c - `heapagent status PID`: what the agent in a process has
 * counted so far, read from outside: no signal, no stop, no dump.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "counters.h"
#include "estimate.h"
#include "find_agent.h"
#include "json.h"
#include "missing.h"
#include "options.h"
#include "region_view.h"
#include "signals.h"
#include "units.h"

/* One of the two sides: what is in use, or all that was allocated. */
struct side {
	uint64_t samples;
	uint64_t sample_bytes;
	double blocks, blocks_variance;
	double bytes, bytes_variance;
};

struct status {
	struct process process;
	struct region_view view;
	struct side inuse;
	struct side allocated;
	uint64_t buckets;
	uint64_t resident_bytes;
	double seconds;	  /* since profiling began */
	char unseen[256]; /* what goes past the agent, "" if nothing does */
};

/* In the order of enum counter. */
static const struct {
	const char *name;
	const char *text;
} counters[] = {
#define COUNTER_ROW(name, text) { #name, text },
	COUNTERS(COUNTER_ROW)
#undef COUNTER_ROW
};

/* a minus b, of sums that were read while the program went on. */
static uint64_t
left(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0 ? 0 : a - b;
}

static void
add(struct side *side, const struct tally *tally, double rate_bytes)
{
	double blocks =
		ldexp((double)tally->weighted_objects, -TALLY_OBJECT_BITS);
	double size = tally->objects == 0
			      ? 0
			      : (double)tally->bytes / (double)tally->objects;
	double variance = estimate_block_variance(blocks, size, rate_bytes);

	side->samples += tally->objects;
	side->sample_bytes += tally->bytes;
	side->blocks += blocks;
	side->blocks_variance += variance;
	side->bytes += ldexp((double)tally->weighted_bytes, -TALLY_BYTE_BITS);
	side->bytes_variance += size * size * variance;
}

static void
visit(void *context, const struct bucket *bucket)
{
	struct status *status = context;
	const struct tally *all = &bucket->allocated, *freed = &bucket->freed;
	const struct tally inuse = {
		.objects = left(all->objects, freed->objects),
		.bytes = left(all->bytes, freed->bytes),
		.weighted_objects =
			left(all->weighted_objects, freed->weighted_objects),
		.weighted_bytes =
			left(all->weighted_bytes, freed->weighted_bytes),
	};
	double rate_bytes = (double)status->view.header.rate_bytes;

	status->buckets++;
	add(&status->allocated, all, rate_bytes);
	add(&status->inuse, &inuse, rate_bytes);
}

static int
read_region(struct status *status)
{
	int pid = (int)status->process.pid;
	int error = region_view_open(&status->view, status->process.thread);
	struct timespec now;

	if (!error)
		error = region_view_buckets(&status->view, visit, status);
	switch (error) {
	case 0:
		break;
	case -ENOENT:
		return command_fail("status: the agent in process %d is off: "
				    "raised privileges, or no memory",
				    pid);
	case -EPROTO:
		return command_fail("status: the agent in process %d is of "
				    "another version than this command",
				    pid);
	case -EFAULT:
	case -ESRCH:
		return command_fail("status: process %d ended", pid);
	default:
		return command_fail("status: process %d: %s", pid,
				    strerror(-error));
	}
	status->resident_bytes = region_view_resident_bytes(&status->view);
	if (region_view_table(&status->view, "unseen", status->unseen,
			      sizeof(status->unseen)) ||
	    !memchr(status->unseen, '\0', sizeof(status->unseen)))
		*status->unseen = '\0';
	region_view_close(&status->view);
	clock_gettime(CLOCK_MONOTONIC, &now);
	status->seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9 -
			  (double)status->view.header.start_monotonic_ns * 1e-9;
	return COMMAND_OK;
}

static void
print_side(const char *name, const struct side *side, bool estimated)
{
	printf("%-10s %s in ", name,
	       units_estimate(side->bytes, side->bytes_variance, "bytes",
			      estimated)
		       .text);
	printf("%s blocks", units_estimate(side->blocks, side->blocks_variance,
					   "count", estimated)
				    .text);
	if (estimated)
		printf(" (from %" PRIu64 " samples of %s)", side->samples,
		       units_value((double)side->sample_bytes, "bytes").text);
	putchar('\n');
}

static void
print_seconds(double seconds)
{
	unsigned long long whole = (unsigned long long)fmax(seconds, 0);

	if (whole >= 86400)
		printf("%llu d ", whole / 86400);
	if (whole >= 3600)
		printf("%llu h ", whole / 3600 % 24);
	if (whole >= 60)
		printf("%llu min ", whole / 60 % 60);
	printf("%llu s", whole % 60);
}

/* Whether dumps may be asked for, where that is not so. */
static const char *
handler_text(const struct process *process)
{
	if (process->signal == 0)
		return "";
	switch (process->handler) {
	case HANDLER_ANOTHERS:
		return ": the program has put a handler of its own over the "
		       "agent's";
	case HANDLER_NOT_YET:
		return ": the agent has not set it up yet";
	case HANDLER_NEVER:
		return ": the program had it before the agent";
	default:
		return process->settings_sure ? "" : " (a guess)";
	}
}

static void
print_settings(const struct status *status)
{
	const struct process *process = &status->process;
	uint64_t rate = status->view.header.rate_bytes;
	char signal[32];

	fputs("rate       ", stdout);
	if (rate == 0)
		puts("0: no heap sampling");
	else if (rate == 1)
		puts("1: every allocation");
	else
		printf("%" PRIu64 ": a sample each %s\n", rate,
		       units_value((double)rate, "bytes").text);
	printf("signal     %s%s\n",
	       process->signal == 0
		       ? "none"
		       : signals_name(process->signal, signal, sizeof(signal)),
	       handler_text(process));
	printf("directory  %s%s%s\n", process->root, process->directory,
	       process->settings_sure ? "" : " (a guess)");
}

static void
print_counters(const struct status *status)
{
	const uint64_t *values = status->view.header.counters;
	bool any = false;

	printf("dumps      %" PRIu64 " written, %" PRIu64 " failed\n",
	       values[COUNTER_dumps_written], values[COUNTER_dumps_failed]);
	/* Dumps that simply went well are no news. */
	for (unsigned i = 0; i < COUNTER_COUNT; i++) {
		if (values[i] == 0 || i == COUNTER_dumps_started ||
		    i == COUNTER_dumps_written)
			continue;
		printf("%s %s %" PRIu64 ": %s\n",
		       any ? "          " : "counted   ", counters[i].name,
		       values[i], counters[i].text);
		any = true;
	}
	if (!any)
		puts("dropped    nothing");
}

/* What the figures above lack. */
static void
print_missing(const struct status *status)
{
	const struct region_header *header = &status->view.header;
	double values[COUNTER_COUNT];
	struct missing_line line;

	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		values[i] = (double)header->counters[i];
	line = missing_line(values, (double)status->allocated.samples,
			    status->allocated.bytes);
	if (*line.text)
		printf("missing    %s\n", line.text);
	if (*status->unseen)
		printf("not seen   %s\n", status->unseen);
	if (!status->allocated.samples && header->rate_bytes > 1 && !*line.text)
		puts("nothing was sampled: fewer bytes were allocated than "
		     "there "
		     "are between samples; try --rate 4K");
}

static void
print_text(const struct status *status)
{
	const struct region_header *header = &status->view.header;
	bool estimated = header->rate_bytes > 1;

	printf("process    %d\n", (int)status->process.pid);
	printf("agent      %s\n", status->process.library);
	fputs("profiling  for ", stdout);
	print_seconds(status->seconds);
	putchar('\n');
	print_settings(status);
	print_side("in use", &status->inuse, estimated);
	print_side("allocated", &status->allocated, estimated);
	print_missing(status);
	printf("stacks     %" PRIu64 " pairs of stack and size class\n",
	       status->buckets);
	printf("memory     %s",
	       units_value((double)status->resident_bytes, "bytes").text);
	printf(" touched, of %s\n",
	       units_value((double)header->size_bytes, "bytes").text);
	print_counters(status);
}

static void
print_side_json(const char *name, const struct side *side)
{
	printf(",\n\"%s\":{\"samples\":%" PRIu64 ",\"sample_bytes\":%" PRIu64
	       ",\"objects\":",
	       name, side->samples, side->sample_bytes);
	json_number(stdout, round(side->blocks));
	json_member(stdout, "objects_standard_error",
		    sqrt(side->blocks_variance));
	json_member(stdout, "bytes", round(side->bytes));
	json_member(stdout, "bytes_standard_error", sqrt(side->bytes_variance));
	putchar('}');
}

static const char *const handlers[] = {
	[HANDLER_UNKNOWN] = "unknown", [HANDLER_NOT_YET] = "none yet",
	[HANDLER_AGENTS] = "agent",    [HANDLER_ANOTHERS] = "program",
	[HANDLER_NEVER] = "none",
};

static void
print_json(const struct status *status)
{
	const struct region_header *header = &status->view.header;

	printf("{\"pid\":%d,\"library\":", (int)status->process.pid);
	json_string(stdout, status->process.library);
	printf(",\"rate\":%" PRIu64 ",\"signal\":%d,\"handler\":\"%s\","
	       "\"directory\":",
	       header->rate_bytes, status->process.signal,
	       handlers[status->process.handler]);
	json_string(stdout, status->process.directory);
	json_member(stdout, "seconds", status->seconds);
	print_side_json("inuse", &status->inuse);
	print_side_json("allocated", &status->allocated);
	printf(",\n\"buckets\":%" PRIu64 ",\"region_bytes\":%" PRIu64
	       ",\"region_used_bytes\":%" PRIu64
	       ",\"region_resident_bytes\":%" PRIu64 ",\n\"counters\":{",
	       status->buckets, header->size_bytes, header->used_bytes,
	       status->resident_bytes);
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		printf("%s\"%s\":%" PRIu64, i ? "," : "", counters[i].name,
		       header->counters[i]);
	puts("}}");
}

static const char *
set(void *context, int key, const char *value)
{
	bool *json = context;

	(void)key;
	(void)value;
	*json = true;
	return NULL;
}

static int
run(int argc, char **argv)
{
	static struct status status;
	bool json = false;
	pid_t pid = 0;
	int result = options_read(&command_status, argc, argv, set, &json);

	if (result == COMMAND_OK)
		result = find_agent_pid(&command_status, argc, argv, &pid);
	if (result == COMMAND_OK)
		result = find_agent("status", &status.process, pid);
	if (result == COMMAND_OK)
		result = read_region(&status);
	if (result == COMMAND_OK)
		(json ? print_json : print_text)(&status);
	return result;
}

static const struct option_row own_options[] = {
	{ OPT_OWN, "json", NULL, "JSON, for programs" },
	{ .name = NULL },
};

static const struct option_row *const options[] = { own_options, NULL };

const struct command command_status = {
	.name = "status",
	.arguments = "PID",
	.summary = "What the agent in a running program has counted, without a "
		   "dump",
	.options = options,
	.run = run,
};
