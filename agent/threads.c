/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.c - the list of threads in /proc, and the reading of a blocked one
 * from there; see threads.h.
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
#include "restart.h"
#include "sys.h"

/* For threads that are born between the count and the list. */
#define THREADS_SPARE 64
#define DIRENT_BYTES 4096
#define STAT_BYTES 256
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

	return (count + THREADS_SPARE) *
	       (ALIGN_UP(sizeof(struct thread_record), (size_t)CACHE_LINE) +
		frames);
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

void
threads_describe(const struct threads *threads, struct thread_record *record)
{
	char stat[STAT_BYTES] = "";
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
}

static int
decimal(const char *text)
{
	int value = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (*text - '0');
	return value;
}

void
threads_describe_rest(struct threads *threads)
{
	for (unsigned i = 0; i < threads->count; i++)
		if (threads->records[i].state == NULL)
			threads_describe(threads, &threads->records[i]);
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

void
threads_walk(struct threads *threads, struct thread_record *record,
	     const struct unwind_registers *registers, uintptr_t thread_pointer)
{
	struct unwind_scratch scratch;
	uint64_t frames[UNWIND_FRAMES_MAX];
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

	(void)unwind_stack(&request, &count);
	threads_keep(threads, record, frames, count);
}

/* What a blocked thread's syscall file says. */
struct blocked {
	long nr; /* -1: it sleeps in no system call (a page fault) */
	uint64_t arguments[6];
	uintptr_t sp;
	uintptr_t ip;
};

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
static bool
parse_blocked(const char *text, struct blocked *blocked)
{
	uint64_t numbers[9];
	bool in_call = text[0] != '-';
	unsigned expected = in_call ? 9 : 3;

	if (!in_call)
		text++;
	for (unsigned i = 0; i < expected; i++)
		if (!parse_number(&text, &numbers[i]))
			return false;
	/* cppcheck-suppress uninitvar ; expected is never 0 */
	blocked->nr = in_call ? (long)numbers[0] : -1;
	if (in_call)
		memcpy(blocked->arguments, &numbers[1],
		       sizeof(blocked->arguments));
	blocked->sp = numbers[expected - 2];
	blocked->ip = numbers[expected - 1];
	return true;
}

/*
 * Reads a thread that had better not be stopped: one whose call would notice
 * and could not be made again as it is, and one that would stop only after a
 * sleep that nothing interrupts. Its frame pointer is not known then, so all
 * others are asked for all their registers.
 */
static bool
capture_by_file(struct threads *threads, struct thread_record *record)
{
	struct unwind_registers registers = { .exact = true };
	struct blocked blocked;
	char text[STAT_BYTES];

	if (threads_read_file(threads->pid, record->tid, "syscall", text,
			      sizeof(text)) <= 0 ||
	    !parse_blocked(text, &blocked))
		return false;
	if (strcmp(record->state, "disk-sleep") != 0 &&
	    !(restart_notices_stop(blocked.nr) &&
	      restart_how(blocked.nr, blocked.arguments) == RESTART_NEVER))
		return false;
	registers.ip = blocked.ip;
	registers.sp = blocked.sp;
	threads_walk(threads, record, &registers, 0);
	counter_add(COUNTER_threads_by_syscall_file);
	return true;
}

/* True if the thread is still there. */
static bool
exists(const struct threads *threads, int tid)
{
	return sys_call3(SYS_tgkill, threads->pid, tid, 0) != -ESRCH;
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
		if (record->frame_count == 0 &&
		    !capture_by_file(threads, record))
			threads_stop_and_walk(threads, record);
		while (threads_read_late(threads) == THREADS_LATE_MAX &&
		       sys_clock_ns(CLOCK_MONOTONIC) < end_ns)
			sys_sleep_ns(late_sleep_ns);
	}
	while (threads_read_late(threads) > 0 &&
	       sys_clock_ns(CLOCK_MONOTONIC) < end_ns)
		sys_sleep_ns(late_sleep_ns);
	threads_forget_late();
	threads_give_up(threads);
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
