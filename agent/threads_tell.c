/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_tell.c - how a dump came by its threads' stacks, in words; see
 * threads.h.
 *
 * Why ptrace was refused is found out afterwards, from what can refuse it: the
 * tracee's other tracer, a filter of system calls, the memory's dumpable flag,
 * Yama. prctl(2) answers for the memory, which the dump child shares.
 */
#include <errno.h>
#include <linux/prctl.h>
#include <string.h>

#include "compiler.h"
#include "log.h"
#include "sys.h"
#include "threads.h"

#define STATUS_BYTES 2048

static size_t
put_count(char *text, size_t size_bytes, size_t used, enum thread_how how,
	  unsigned count, int signal)
{
	static const char *const words[THREAD_HOWS] = {
		[THREAD_SELF] = "self",
		[THREAD_BY_PTRACE] = "by ptrace",
		[THREAD_BY_FILE] = "by /proc (not stopped)",
		[THREAD_BY_SIGNAL] = "by signal",
		[THREAD_ENDED] = "ended",
		[THREAD_UNANSWERED] = "not answering",
	};

	if (count == 0 || words[how] == NULL)
		return used;
	used += log_format(text + used, size_bytes - used, "%s%u %s",
			   used == 0 ? "" : ", ", count, words[how]);
	if (how == THREAD_BY_SIGNAL)
		used += log_format(text + used, size_bytes - used, " %d",
				   signal);
	return used;
}

/* "1 self, 940 by ptrace": of those that were refused, or of all. */
static void
put_counts(const struct threads *threads, bool refused, char *text,
	   size_t size_bytes)
{
	unsigned counts[THREAD_HOWS] = { 0 };
	size_t used = 0;

	for (unsigned i = 0; i < threads->count; i++)
		if (!refused || threads->records[i].refused != 0)
			counts[threads->records[i].how]++;
	*text = '\0';
	for (unsigned i = 0; i < THREAD_HOWS; i++)
		used = put_count(text, size_bytes, used, (enum thread_how)i,
				 counts[i], threads->signal);
}

void
threads_tell_how(const struct threads *threads, char *text, size_t size_bytes)
{
	size_t used =
		log_format(text, size_bytes, "%u listed: ", threads->count);

	put_counts(threads, false, text + used, size_bytes - used);
}

int
threads_tracer_of(const struct threads *threads, int tid)
{
	char status[STATUS_BYTES];
	const char *p;

	if (threads_read_file(threads->pid, tid, "status", status,
			      sizeof(status)) <= 0 ||
	    (p = strstr(status, "\nTracerPid:\t")) == NULL)
		return 0;
	return sys_decimal(p + strlen("\nTracerPid:\t"));
}

static void
put_reason(const struct threads *threads, int tid, char *text,
	   size_t size_bytes)
{
	int tracer = threads_tracer_of(threads, tid);
	char yama[8];

	if (tracer != 0)
		log_format(text, size_bytes, "traced by %d", tracer);
	else if (sys_call5(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != 0)
		log_format(text, size_bytes, "a seccomp filter");
	else if (sys_call5(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0) != 1)
		log_format(text, size_bytes, "not dumpable");
	else if (sys_read_file("/proc/sys/kernel/yama/ptrace_scope", yama,
			       sizeof(yama)) > 0 &&
		 yama[0] != '0')
		log_format(text, size_bytes, "Yama ptrace_scope %d",
			   yama[0] - '0');
	else
		log_format(text, size_bytes, "reason unknown");
}

static void
put_errno(int error, char *text, size_t size_bytes)
{
	if (error == EPERM)
		log_format(text, size_bytes, "EPERM");
	else if (error == EACCES)
		log_format(text, size_bytes, "EACCES");
	else if (error == ENOSYS)
		log_format(text, size_bytes, "ENOSYS");
	else
		log_format(text, size_bytes, "error %d", error);
}

void
threads_tell_refusal(const struct threads *threads, char *text,
		     size_t size_bytes)
{
	const struct thread_record *first = NULL;
	char reason[48], error[16];
	unsigned count = 0;
	size_t used;

	*text = '\0';
	for (unsigned i = 0; i < threads->count; i++) {
		const struct thread_record *record = &threads->records[i];

		if (record->refused == 0)
			continue;
		count++;
		if (first == NULL)
			first = record;
	}
	if (first == NULL)
		return;
	put_reason(threads, first->tid, reason, sizeof(reason));
	put_errno(first->refused, error, sizeof(error));
	used = log_format(text, size_bytes, "refused for %u (%s, %s): ", count,
			  error, reason);
	put_counts(threads, true, text + used, size_bytes - used);
}
