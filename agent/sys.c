/* SPDX-License-Identifier: Apache-2.0 */
/* sys.c - system calls without libc; see sys.h for the contract. */
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "atomics.h"
#include "compiler.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

unsigned char sys_confined;

static bool
is_confined(void)
{
	/* Relaxed: the thread that enters a sandbox sees its own store. Another
	 * is taken in only by a filter for all threads, after that store. */
	return atomic_load_relaxed(&sys_confined) != 0;
}

static void *
map(size_t size_bytes, int access)
{
	long r;

	if (is_confined())
		return NULL;
	r = sys_call6(SYS_mmap, 0, size_bytes, access,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return sys_failed(r) ? NULL : (void *)r;
}

void *
sys_map(size_t size_bytes)
{
	return map(size_bytes, PROT_READ | PROT_WRITE);
}

void *
sys_reserve(size_t size_bytes)
{
	return map(size_bytes, PROT_NONE);
}

bool
sys_commit(void *base, size_t size_bytes)
{
	return !sys_failed(sys_call3(SYS_mprotect, base, size_bytes,
				     PROT_READ | PROT_WRITE));
}

void
sys_unmap(void *base, size_t size_bytes)
{
	if (!is_confined())
		(void)sys_call2(SYS_munmap, base, size_bytes);
}

int
sys_open(const char *path, int flags, int mode)
{
	long r;

	do
		r = sys_call4(SYS_openat, AT_FDCWD, path, flags, mode);
	while (r == -EINTR);
	return (int)r;
}

ssize_t
sys_read(int fd, void *buffer, size_t size_bytes)
{
	long r;

	do
		r = sys_call3(SYS_read, fd, buffer, size_bytes);
	while (r == -EINTR);
	return r;
}

int
sys_write_all(int fd, const void *buffer, size_t size_bytes)
{
	const char *p = buffer;

	while (size_bytes > 0) {
		long r = sys_call3(SYS_write, fd, p, size_bytes);

		if (r == -EINTR)
			continue;
		if (r < 0)
			return (int)r;
		if (r == 0)
			return -ENOSPC;
		p += r;
		size_bytes -= (size_t)r;
	}
	return 0;
}

static const uint64_t too_large = UINT64_C(1) << (SIGXFSZ - 1);

void
sys_oversize_begin(struct sys_oversize *oversize)
{
	oversize->pending = 0;
	(void)sys_call4(SYS_rt_sigprocmask, SIG_BLOCK, &too_large,
			&oversize->mask, sizeof(too_large));
	(void)sys_call2(SYS_rt_sigpending, &oversize->pending,
			sizeof(oversize->pending));
}

void
sys_oversize_end(const struct sys_oversize *oversize)
{
	const struct timespec now = { 0, 0 };

	if ((oversize->pending & too_large) == 0)
		(void)sys_call4(SYS_rt_sigtimedwait, &too_large, NULL, &now,
				sizeof(too_large));
	(void)sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &oversize->mask, NULL,
			sizeof(oversize->mask));
}

int
sys_close(int fd)
{
	return (int)sys_call1(SYS_close, fd);
}

ssize_t
sys_read_file(const char *path, char *buffer, size_t size_bytes)
{
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	size_t used = 0;
	ssize_t r = 0;

	if (fd < 0)
		return fd;
	while (used < size_bytes - 1) {
		r = sys_read(fd, buffer + used, size_bytes - 1 - used);
		if (r <= 0)
			break;
		used += (size_t)r;
	}
	sys_close(fd);
	buffer[used] = '\0';
	return r < 0 ? r : (ssize_t)used;
}

/* struct linux_dirent64 of getdents64(2). */
struct dirent64 {
	uint64_t inode;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
};

void
sys_directory_begin(struct sys_directory *directory, int fd)
{
	directory->fd = fd;
	directory->at = directory->used = directory->error = 0;
}

const char *
sys_directory_next(struct sys_directory *directory)
{
	struct dirent64 *entry;

	if (directory->at >= directory->used) {
		directory->at = 0;
		directory->used =
			sys_call3(SYS_getdents64, directory->fd,
				  directory->buffer, sizeof(directory->buffer));
		if (directory->used <= 0) {
			directory->error = directory->used;
			return NULL;
		}
	}
	entry = (void *)(directory->buffer + directory->at);
	directory->at += entry->length;
	return entry->name;
}

int
sys_decimal(const char *text)
{
	int value = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (*text - '0');
	return value;
}

pid_t
sys_getpid(void)
{
	return (pid_t)sys_call0(SYS_getpid);
}

pid_t
sys_gettid(void)
{
	return (pid_t)sys_call0(SYS_gettid);
}

uint64_t
sys_clock_ns(clockid_t clock)
{
	struct timespec ts = { 0, 0 };

	(void)sys_call2(SYS_clock_gettime, clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static struct timespec
timespec_of(uint64_t time_ns)
{
	return (struct timespec){ (time_t)(time_ns / 1000000000U),
				  (long)(time_ns % 1000000000U) };
}

void
sys_sleep_ns(uint64_t duration_ns)
{
	struct timespec ts = timespec_of(duration_ns);

	(void)sys_call5(SYS_ppoll, NULL, 0, &ts, NULL, 0);
}

/* False if the kernel has no such call, or a filter may be against it. */
static bool
futex_waitv(const void *word, uint32_t value, uint64_t timeout_ns,
	    unsigned flags)
{
	struct futex_waitv wait = {
		.val = value,
		.uaddr = (uintptr_t)word,
		.flags = FUTEX_32 | flags,
	};
	struct timespec until;
	long r;

	/* It is too new for many a filter, and the filter may end us. */
	if (sys_call5(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != 0)
		return false;
	until = timespec_of(sys_clock_ns(CLOCK_MONOTONIC) + timeout_ns);
	r = sys_call5(SYS_futex_waitv, &wait, 1, 0, &until, CLOCK_MONOTONIC);
	return r >= 0 || r == -EAGAIN || r == -ETIMEDOUT || r == -EINTR;
}

void
sys_futex_wait(const void *word, uint32_t value, uint64_t timeout_ns,
	       unsigned flags)
{
	const uint64_t slice_ns = 50000;

	if (!futex_waitv(word, value, timeout_ns, flags))
		sys_sleep_ns(MIN(timeout_ns, slice_ns));
}

void
sys_random(void *buffer, size_t size_bytes)
{
	const unsigned flag_nonblock = 1; /* GRND_NONBLOCK */
	unsigned char *p = buffer;
	uint64_t mix;

	if (sys_call3(SYS_getrandom, p, size_bytes, flag_nonblock) ==
	    (long)size_bytes)
		return;
	/* Early boot or a filter: what differs from one process to the next. */
	mix = sys_clock_ns(CLOCK_MONOTONIC) ^ (uint64_t)sys_getpid() << 40 ^
	      (uintptr_t)buffer;
	for (size_t i = 0; i < size_bytes; i++) {
		mix = mix * 6364136223846793005U + 1442695040888963407U;
		p[i] = (unsigned char)(mix >> 56);
	}
}

/* Set by sys_readable_check() alone: the kernel's answers say nothing. */
static bool answers_are_void;

bool
sys_readable(uintptr_t address)
{
	const int how_invalid = ~0;
	const size_t kernel_sigset_bytes = 8;

	/*
	 * The kernel copies the new set before it looks at `how`
	 * (kernel/signal.c, rt_sigprocmask): EFAULT says unreadable, EINVAL
	 * says read and refused. The mask is never changed. Address 0 would
	 * mean no set at all, which is refused without being read.
	 */
	return address >= kernel_sigset_bytes && !answers_are_void &&
	       !is_confined() &&
	       sys_call4(SYS_rt_sigprocmask, how_invalid, address & ~7UL, NULL,
			 kernel_sigset_bytes) != -EFAULT;
}

bool
sys_readable_check(void)
{
	const size_t size_bytes = 4096;
	long page = sys_call6(SYS_mmap, 0, size_bytes, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (sys_failed(page))
		return true;
	answers_are_void = sys_readable((uintptr_t)page);
	sys_unmap((void *)page, size_bytes);
	return !answers_are_void;
}

bool
sys_is_filtered(void)
{
	return sys_call5(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != 0;
}
