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
#define DIRENT_BYTES 4096
#define STATUS_BYTES 2048

/* struct linux_dirent64 of getdents64(2). */
struct dirent64 {
	uint64_t inode;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
};

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

/* The hexadecimal number that follows name in a status file; 0: none. */
static uint64_t
signal_set(const char *status, const char *name)
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
	signals->blocked = signal_set(status, "\nSigBlk:");
	signals->pending = signal_set(status, "\nSigPnd:") |
			   signal_set(status, "\nShdPnd:");
	return true;
}

static int
decimal(const char *text)
{
	int value = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (*text - '0');
	return value;
}

int
threads_list(struct threads *threads)
{
	unsigned capacity = threads_count(threads->pid) + THREADS_SPARE;
	char buffer[DIRENT_BYTES] __attribute__((aligned(8)));
	char path[THREAD_PATH_MAX];
	long bytes;
	int fd;

	threads->count = 0;
	threads->records = arena_alloc(threads->arena,
				       capacity * sizeof(*threads->records));
	if (threads->records == NULL)
		return -ENOMEM;
	log_format(path, sizeof(path), "/proc/%d/task", threads->pid);
	fd = sys_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	while ((bytes = sys_call3(SYS_getdents64, fd, buffer, sizeof(buffer))) >
	       0) {
		for (long at = 0; at < bytes;) {
			struct dirent64 *entry = (void *)(buffer + at);
			struct thread_record *record;

			at += entry->length;
			if (entry->name[0] == '.' || threads->count == capacity)
				continue;
			record = &threads->records[threads->count++];
			record->tid = decimal(entry->name);
			record->state = NULL;
		}
	}
	sys_close(fd);
	return (int)MIN(bytes, 0);
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

/* True if the thread is still there. */
static bool
exists(const struct threads *threads, int tid)
{
	return sys_call3(SYS_tgkill, threads->pid, tid, 0) != -ESRCH;
}

static void
capture_thread(struct threads *threads, struct thread_record *record)
{
	/* Just before: what it is blocked in decides how it is read. */
	threads_describe(threads, record);
	if (!threads_read_blocked(threads, record))
		threads_stop_and_walk(threads, record);
}

void
threads_capture(struct threads *threads)
{
	/* A thread takes some 30 us, on a busy machine some milliseconds. */
	const uint64_t all_timeout_ns = UINT64_C(5000000000);
	const uint64_t late_sleep_ns = UINT64_C(200000);
	uint64_t end_ns = sys_clock_ns(CLOCK_MONOTONIC) + all_timeout_ns;

	for (unsigned i = 0; i < threads->count; i++) {
		struct thread_record *record = &threads->records[i];

		if (sys_clock_ns(CLOCK_MONOTONIC) > end_ns)
			break;
		if (record->frame_count == 0)
			capture_thread(threads, record);
		while (threads_read_late(threads) == THREADS_LATE_MAX &&
		       sys_clock_ns(CLOCK_MONOTONIC) < end_ns)
			sys_sleep_ns(late_sleep_ns);
	}
	while (threads_read_late(threads) > 0 &&
	       sys_clock_ns(CLOCK_MONOTONIC) < end_ns)
		sys_sleep_ns(late_sleep_ns);
	threads_forget_late();
}

void
threads_give_up(struct threads *threads)
{
	for (unsigned i = 0; i < threads->count; i++) {
		struct thread_record *record = &threads->records[i];

		if (record->frame_count > 0 || !exists(threads, record->tid))
			continue;
		record->frames = no_frames;
		record->frame_count = 1;
		/* The first thread may have ended before the others. */
		if (strcmp(record->state, "zombie") == 0)
			continue;
		record->state = "not answering";
		counter_add(COUNTER_threads_unanswered);
	}
}
