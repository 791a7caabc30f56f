/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump.c - the order of a dump, the names of its files; see dump.h.
 *
 * Two arenas: what is captured while a thread waits is sized by counts that
 * are at hand; what the encoding needs is known only after that.
 */
#include "dump.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "compiler.h"
#include "config.h"
#include "counters.h"
#include "dump_comments.h"
#include "dump_text.h"
#include "executable.h"
#include "file.h"
#include "gzip.h"
#include "heap_profile.h"
#include "log.h"
#include "outside.h"
#include "pprof.h"
#include "region.h"
#include "stacks.h"
#include "sys.h"
#include "thread_profile.h"

#define PROGRAM_MAX 128
/* For buckets that are made between the count and the capture. */
#define ROWS_SPARE 4096
/* A thread takes some 30 us, on a busy machine some milliseconds. */
#define CAPTURE_NS UINT64_C(5000000000)
#define CAPTURE_EACH_NS UINT64_C(5000000)
/* While the interrupted thread waits, which it does not for long. */
#define WAITING_CAPTURE_NS UINT64_C(100000000)
/* Of one or the other format. */
#define ENCODER_BYTES MAX(GZIP_ARENA_BYTES, DUMP_TEXT_ARENA_BYTES)

static struct {
	/* Immutable after dump_init(). */
	char program[PROGRAM_MAX];
	/* Immutable between forks. */
	int pid;     /* of the process whose dumps these are; 0: to be asked */
	bool forked; /* and it was not known at the start */
	/* The dump's own: one runs at a time. */
	unsigned sequence; /* of the next dump */
	struct arena captured;
	struct arena encoding;
	struct file file;
} dump;

/* What one dump has captured. */
struct capture {
	struct threads threads;
	struct heap_rows rows;
	struct dump_moment moment;
};

static const struct kind {
	unsigned profile;
	const char *name;
	const char *default_type; /* NULL: the threads profile */
} kinds[] = {
	{ PROFILE_THREADS, "threads", NULL },
	{ PROFILE_ALLOCS, "allocs", "alloc_space" },
	{ PROFILE_HEAP, "heap", "inuse_space" },
};

int
dump_init(void)
{
	char path[CONFIG_PATH_MAX];
	const char *base = path;

	executable_path(path, sizeof(path));
	if (strrchr(path, '/') != NULL)
		base = strrchr(path, '/') + 1;
	if (*base == '\0')
		base = "unknown";
	/* cppcheck-suppress arrayIndexOutOfBoundsCond ; "unknown" ends in 0 */
	for (unsigned i = 0; i < PROGRAM_MAX - 1 && base[i] != '\0'; i++)
		dump.program[i] =
			/* cppcheck-suppress arrayIndexOutOfBounds ; it does */
			(unsigned char)base[i] < ' ' || base[i] == 0x7f
				? '_'
				: base[i];
	dump.pid = sys_getpid();
	dump.sequence = 1;
	return 0;
}

void
dump_fork_child(void)
{
	/* The parent's dump, if one ran, goes on without us; its memory was
	 * copied into this process, its file is its own. */
	dump.file.temporary[0] = '\0';
	arena_close(&dump.captured);
	arena_close(&dump.encoding);
	/* Asked for when it is wanted: a sandbox may end us for asking. */
	dump.pid = 0;
	dump.forked = true;
	dump.sequence = 1;
}

void
dump_discard(void)
{
	/* The descriptor was another process's, if that one was killed. */
	dump.file.fd = -1;
	file_discard(&dump.file);
	arena_close(&dump.encoding);
	arena_close(&dump.captured);
}

void
dump_leave(void)
{
	file_discard(&dump.file);
}

int
dump_pid(void)
{
	return dump.pid;
}

bool
dump_is_own(void)
{
	int pid = sys_getpid();

	if (pid == dump.pid)
		return true;
	/* It may have been a vfork child's, which asked before its parent. */
	if (!dump.forked ||
	    (dump.pid != 0 && dump.pid == (int)sys_call0(SYS_getppid)))
		return false;
	dump.pid = pid;
	return true;
}

static void
path_of(const struct kind *kind, char *path, size_t size_bytes)
{
	log_format(path, size_bytes, "%s/%s.%d.%04u.%s.%s", config.directory,
		   dump.program, dump.pid, dump.sequence, kind->name,
		   config.format == FORMAT_TEXT ? "txt" : "pb.gz");
}

/* True if a file of this sequence number is there, of whatever kind: an older
 * process of the same PID may have left it. */
static bool
sequence_is_taken(void)
{
	char path[FILE_PATH_MAX];
	struct stat st;

	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		path_of(&kinds[i], path, sizeof(path));
		/* A link that leads nowhere takes the name, too. */
		if (!sys_failed(sys_call4(SYS_newfstatat, AT_FDCWD, path, &st,
					  AT_SYMLINK_NOFOLLOW)))
			return true;
	}
	return false;
}

static int
create_file(const struct kind *kind)
{
	char path[FILE_PATH_MAX];

	path_of(kind, path, sizeof(path));
	return file_create(&dump.file, path);
}

/* Of the kinds that are wanted; config.h sees to it that there is one. */
static const struct kind *
first_kind(void)
{
	const struct kind *kind = kinds;

	while ((config.profiles & kind->profile) == 0 &&
	       kind < &kinds[ARRAY_SIZE(kinds) - 1])
		kind++;
	return kind;
}

/* Early, so that a directory that takes no files is known of in time to tell
 * the user. */
static int
create_first_file(void)
{
	while (sequence_is_taken())
		dump.sequence++;
	return create_file(first_kind());
}

/* The interrupted thread's stack: its own registers, before our handler. */
static struct thread_record *
capture_origin(struct threads *threads, const struct dump_origin *origin)
{
	struct thread_record *first = threads->records;

	for (unsigned i = 0; i < threads->count; i++) {
		struct thread_record *record = &threads->records[i];

		if (record->tid != origin->tid)
			continue;
		/* Such a profile begins with the thread it was asked of. */
		record->tid = first->tid;
		first->tid = origin->tid;
		threads_walk(threads, first, &origin->registers,
			     origin->thread_pointer);
		threads_describe_origin(threads, first, &origin->call);
		first->how = THREAD_SELF;
		return first;
	}
	return NULL;
}

/*
 * While the origin waits: its stack, and, if the other threads can be reached
 * only with its help, theirs too. One that is only refused itself has another
 * tracer; the others are stopped all the same.
 */
static void
capture_first_threads(struct capture *capture, const struct dump_origin *origin,
		      const struct dump_host *host)
{
	struct threads *threads = &capture->threads;
	struct thread_record *self;

	capture->threads = (struct threads){
		.arena = &dump.captured,
		.pid = dump.pid,
		.depth = config.depth_frames,
		.method =
			config.unwinder == UNWINDER_FP ? UNWIND_FP : UNWIND_CFI,
		.may_stop = origin->may_stop && host->run_tracer != NULL,
		.run_tracer = host->run_tracer,
		.refused = origin->may_stop ? 0 : EPERM,
	};
	(void)threads_list(threads, origin->tid);
	if (origin->tid == 0)
		return;
	self = capture_origin(threads, origin);
	if (self == NULL || threads->count < 2 ||
	    (threads->may_stop && threads_may_stop(threads, self)) ||
	    host->ask_by_signal == NULL)
		return;
	if (threads->may_stop)
		threads_capture(threads, WAITING_CAPTURE_NS);
	threads_describe_rest(threads);
	host->ask_by_signal(threads, origin->blocked);
}

static void
capture_other_threads(struct capture *capture)
{
	struct threads *threads = &capture->threads;

	threads_capture(threads, CAPTURE_NS + threads->count * CAPTURE_EACH_NS);
	threads_read_unread(threads);
	threads_describe_rest(threads);
	threads_give_up(threads);
	threads_waits_recall(threads);
}

/* All that is captured, and in the middle of it the release of the origin. */
static int
capture_all(struct capture *capture, const struct dump_origin *origin,
	    const struct dump_host *host)
{
	bool threads = (config.profiles & PROFILE_THREADS) != 0;
	unsigned count = threads ? threads_count(dump.pid) : 0;
	size_t rows_bytes =
		(stacks_bucket_count() + ROWS_SPARE) * sizeof(struct heap_row);
	int error = arena_open(
		&dump.captured,
		rows_bytes + threads_arena_bytes(count, config.depth_frames));

	if (error == 0)
		error = heap_rows_capture(&capture->rows, &dump.captured);
	dump_moment_take(&capture->moment, &capture->rows);
	if (error == 0 && threads)
		capture_first_threads(capture, origin, host);
	if (host->captured != NULL)
		host->captured();
	if (error == 0)
		error = create_first_file();
	host->released(error);
	if (error == 0 && threads)
		capture_other_threads(capture);
	if (host->read != NULL)
		host->read();
	return error;
}

static void
write_fields(struct pprof *pprof, const struct kind *kind,
	     const struct capture *capture)
{
	uint64_t rate_bytes = region_header()->rate_bytes;

	if (kind->default_type == NULL)
		thread_profile_write(pprof, &capture->threads);
	else
		heap_profile_write(pprof, &capture->rows, kind->default_type,
				   rate_bytes);
	pprof_time(pprof, capture->moment.realtime_ns);
	dump_comments_write(pprof, &capture->moment);
}

static int
write_text(const struct kind *kind, const struct capture *capture)
{
	const struct dump_text text = {
		.kind = kind->name,
		.threads =
			kind->default_type == NULL ? &capture->threads : NULL,
		.rows = kind->default_type == NULL ? NULL : &capture->rows,
		.moment = &capture->moment,
		.pid = dump.pid,
	};

	return dump_text_write(&text, &dump.encoding, dump.file.fd);
}

static int
write_proto(const struct kind *kind, const struct capture *capture,
	    size_t frames)
{
	struct gzip *gzip = gzip_open(&dump.encoding, dump.file.fd);
	struct pprof *pprof =
		gzip == NULL ? NULL : pprof_open(&dump.encoding, gzip, frames);
	int error, gzip_error;

	if (pprof == NULL)
		return -ENOMEM;
	write_fields(pprof, kind, capture);
	error = pprof_close(pprof);
	gzip_error = gzip_close(gzip);
	return error != 0 ? error : gzip_error;
}

static int
write_file(const struct kind *kind, const struct capture *capture,
	   size_t frames)
{
	int error = kind == first_kind() ? 0 : create_file(kind);

	if (error < 0)
		return error;
	error = config.format == FORMAT_TEXT
			? write_text(kind, capture)
			: write_proto(kind, capture, frames);
	arena_rewind(&dump.encoding, 0);
	if (error == 0)
		return file_publish(&dump.file);
	file_discard(&dump.file);
	return error;
}

static int
write_all(struct capture *capture)
{
	size_t frames = MAX(thread_profile_frames(&capture->threads),
			    capture->rows.frame_count);
	int first_error = arena_open(&dump.encoding, pprof_arena_bytes(frames) +
							     ENCODER_BYTES +
							     2 * CACHE_LINE);

	if (first_error != 0)
		return first_error;
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		int error;

		if ((config.profiles & kinds[i].profile) == 0)
			continue;
		error = write_file(&kinds[i], capture, frames);
		if (first_error == 0)
			first_error = error;
	}
	dump.sequence++;
	return first_error;
}

int
dump_write(const struct dump_origin *origin, const struct dump_host *host)
{
	struct capture capture = { 0 };
	int error;

	dump_discard();
	counter_add(COUNTER_dumps_started);
	error = capture_all(&capture, origin, host);
	dump_moment_count(&capture.moment,
			  capture.threads.count > 0 ? &capture.threads : NULL);
	if (error == 0)
		error = write_all(&capture);
	if (error != 0)
		outside_dump_failed(error);
	counter_add(error == 0 ? COUNTER_dumps_written : COUNTER_dumps_failed);
	/* With its descriptor: in the handler it is the host's. */
	file_discard(&dump.file);
	dump_discard();
	return error;
}
