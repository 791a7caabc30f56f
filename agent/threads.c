/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.c - the list of threads in /proc, and the order in which they are
 * read; see threads.h.
 */
#include "threads.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "compiler.h"
#include "counters.h"
#include "frame.h"
#include "log.h"
#include "sys.h"
#include "unwind_fp.h"

/* For threads that are born between the count and the list. */
#define THREADS_SPARE 64
/* The lines that are asked for come after that of groups, of which a user has
 * hundreds in some places. */
#define STATUS_BYTES 8192

static const uint64_t no_frames[] = { FRAME_TRUNCATED };

unsigned
threads_count(int pid)
{
	char path[THREAD_PATH_MAX];
	struct stat st;

	log_format(path, sizeof(path), "/proc/%d/task", pid);
	if (sys_failed(sys_call4(SYS_newfstatat, AT_FDCWD, path, &st, 0)) ||
	    st.st_nlink < 3)
		return 1;
	/* A directory has one link from its parent, one of its own, and one
	 * for each directory in it. */
	return (unsigned)st.st_nlink - 2;
}

size_t
threads_arena_bytes(unsigned count, unsigned depth)
{
	size_t frames = ALIGN_UP(depth * sizeof(uint64_t), (size_t)CACHE_LINE);

	return (count + THREADS_SPARE) * (ALIGN_UP(sizeof(struct thread_record),
						   (size_t)CACHE_LINE) +
					  frames) +
	       threads_clock_arena_bytes() + UNWIND_FP_MEMORY_BYTES;
}

long
threads_read_file(int pid, int tid, const char *name, char *text,
		  size_t size_bytes)
{
	char path[THREAD_PATH_MAX];

	log_format(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	return sys_read_file(path, text, size_bytes);
}

/* The number, hexadecimal or of one digit, that follows name in a status file;
 * 0: none. */
static uint64_t
number_of(const char *status, const char *name)
{
	const char *p = strstr(status, name);
	uint64_t set = 0;

	if (p == NULL)
		return 0;
	for (p += strlen(name); *p == ' ' || *p == '\t'; p++)
		;
	for (;; p++) {
		if (*p >= '0' && *p <= '9')
			set = set << 4 | (unsigned)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			set = set << 4 | (unsigned)(*p - 'a' + 10);
		else
			return set;
	}
}

bool
threads_read_signals(int pid, int tid, struct thread_signals *signals)
{
	char status[STATUS_BYTES];

	if (threads_read_file(pid, tid, "status", status, sizeof(status)) <= 0)
		return false;
	signals->blocked = number_of(status, "\nSigBlk:");
	signals->pending =
		number_of(status, "\nSigPnd:") | number_of(status, "\nShdPnd:");
	/* The second since Linux 5.9, and read wrongly, but never the same. */
	signals->sandbox = number_of(status, "\nSeccomp:") << 32 |
			   number_of(status, "\nSeccomp_filters:");
	return true;
}

/*
 * True if /proc shows this PID namespace. Another one's has the same numbers
 * for other programs' processes and threads.
 */
static bool
proc_is_ours(void)
{
	char self[16] = "";

	(void)sys_call4(SYS_readlinkat, AT_FDCWD, "/proc/self", self,
			sizeof(self) - 1);
	return sys_decimal(self) == sys_getpid();
}

static void
add(struct threads *threads, int tid)
{
	struct thread_record *record = &threads->records[threads->count++];

	record->tid = tid;
	record->state = NULL;
	record->refused = threads->refused;
}

int
threads_list(struct threads *threads, int origin)
{
	unsigned capacity = threads_count(threads->pid) + THREADS_SPARE;
	struct sys_directory directory;
	char path[THREAD_PATH_MAX];
	const char *name;
	int fd = -ENOENT;

	threads->count = 0;
	threads->records = arena_alloc(threads->arena,
				       capacity * sizeof(*threads->records));
	if (threads->records == NULL)
		return -ENOMEM;
	log_format(path, sizeof(path), "/proc/%d/task", threads->pid);
	if (proc_is_ours())
		fd = sys_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0) {
		if (origin != 0)
			add(threads, origin);
		return fd;
	}
	sys_directory_begin(&directory, fd);
	while ((name = sys_directory_next(&directory)) != NULL) {
		if (name[0] == '.')
			continue;
		if (threads->count < capacity)
			add(threads, sys_decimal(name));
		else
			counter_add(COUNTER_threads_unanswered);
	}
	sys_close(fd);
	return (int)directory.error;
}

void
threads_keep(struct threads *threads, struct thread_record *record,
	     const uint64_t *frames, unsigned count)
{
	uint64_t *kept = arena_alloc(threads->arena, count * sizeof(*kept));

	if (kept == NULL || count == 0) {
		record->frames = no_frames;
		record->frame_count = 1;
		return;
	}
	memcpy(kept, frames, count * sizeof(*kept));
	record->frames = kept;
	record->frame_count = count;
}

unsigned
threads_walk_into(struct threads *threads, uint64_t *frames,
		  const struct unwind_registers *registers,
		  uintptr_t thread_pointer)
{
	struct unwind_scratch scratch;
	struct span own = { 0, 0 };
	struct unwind_request request = {
		.registers = *registers,
		.method = threads->method,
		.thread_pointer = thread_pointer,
		.own = &own,
		.scratch = &scratch,
		.frames = frames,
		.max = threads->depth,
	};
	unsigned count = 0;

	if (!registers->fp_known && threads->recovery == NULL)
		threads->recovery =
			arena_alloc(threads->arena, UNWIND_FP_MEMORY_BYTES);
	request.recovery = threads->recovery;
	(void)unwind_stack(&request, &count);
	return count;
}

void
threads_walk(struct threads *threads, struct thread_record *record,
	     const struct unwind_registers *registers, uintptr_t thread_pointer)
{
	uint64_t frames[UNWIND_FRAMES_MAX];
	unsigned count =
		threads_walk_into(threads, frames, registers, thread_pointer);

	threads_keep(threads, record, frames, count);
}

bool
threads_is_dead(const struct thread_record *record)
{
	return strcmp(record->state, "zombie") == 0 ||
	       strcmp(record->state, "dead") == 0;
}

bool
threads_has_ended(struct threads *threads, int tid)
{
	struct thread_record now = { .tid = tid };

	if (sys_call3(SYS_tgkill, threads->pid, tid, 0) == -ESRCH)
		return true;
	threads_describe(threads, &now);
	return threads_is_dead(&now);
}

bool
threads_capture_one(struct threads *threads, struct thread_record *record,
		    uint64_t timeout_ns)
{
	/* Just before: what it is blocked in decides how it is read. */
	threads_describe(threads, record);
	if (threads_is_dead(record))
		return true;
	if (threads_read_blocked(threads, record)) {
		record->how = THREAD_BY_FILE;
		return true;
	}
	return !threads->may_stop ||
	       threads_stop_and_walk(threads, record, timeout_ns);
}

/* How many of them remain. */
static unsigned
look_at_unread(struct threads *threads)
{
	unsigned remaining = 0;

	for (unsigned i = 0; i < threads->count; i++) {
		struct thread_record *record = &threads->records[i];

		if (record->how != THREAD_UNREAD)
			continue;
		threads_describe(threads, record);
		if (threads_is_dead(record))
			continue;
		if (threads_read_call_site(threads, record))
			record->how = THREAD_BY_FILE;
		else
			remaining++;
	}
	return remaining;
}

void
threads_read_unread(struct threads *threads)
{
	/* Another's tracee stops at each system call, if that traces them. */
	const unsigned looks = 20;
	const uint64_t look_sleep_ns = UINT64_C(1000000);

	for (unsigned i = 0; i < looks && look_at_unread(threads) > 0; i++)
		sys_sleep_ns(look_sleep_ns);
}

static void
give_up(struct threads *threads, struct thread_record *record)
{
	bool ended = threads_has_ended(threads, record->tid);

	record->how = ended ? THREAD_ENDED : THREAD_UNANSWERED;
	/* The first thread stays, as a zombie, until all others have ended. */
	if (ended && record->tid != threads->pid)
		return;
	record->frames = no_frames;
	record->frame_count = 1;
	record->state = ended ? "zombie" : "not answering";
	if (!ended)
		counter_add(COUNTER_threads_unanswered);
}

void
threads_give_up(struct threads *threads)
{
	for (unsigned i = 0; i < threads->count; i++)
		if (threads->records[i].frame_count == 0)
			give_up(threads, &threads->records[i]);
}
