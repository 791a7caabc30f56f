/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sys.h - system calls without libc: no errno, no cancellation point, no lock.
 *
 * Every function here may run anywhere [any], the dump child included, which
 * must not touch the errno of the thread whose memory it shares. Each returns
 * the kernel's result, a negative errno on failure.
 */
#ifndef HEAPAGENT_SYS_H
#define HEAPAGENT_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>

#include "arch/x86_64.h"
#include "compiler.h"

#define SYS_ARG(x) ((long)(x))
#define sys_call0(nr) arch_syscall((nr), 0, 0, 0, 0, 0, 0)
#define sys_call1(nr, a) arch_syscall((nr), SYS_ARG(a), 0, 0, 0, 0, 0)
#define sys_call2(nr, a, b) \
	arch_syscall((nr), SYS_ARG(a), SYS_ARG(b), 0, 0, 0, 0)
#define sys_call3(nr, a, b, c) \
	arch_syscall((nr), SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), 0, 0, 0)
#define sys_call4(nr, a, b, c, d) \
	arch_syscall((nr), SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), 0, 0)
#define sys_call5(nr, a, b, c, d, e) \
	arch_syscall((nr), SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), \
		     SYS_ARG(e), 0)
#define sys_call6(nr, a, b, c, d, e, f) \
	arch_syscall((nr), SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), \
		     SYS_ARG(e), SYS_ARG(f))

/* True if a raw result is an error (Linux: -4095 to -1). */
static inline bool
sys_failed(long result)
{
	return (unsigned long)result > -4096UL;
}

/*
 * Atomic, only ever set: the program was seen to enter a sandbox (sandbox.h),
 * which may end it for any call. From then on no memory is asked for or given
 * back, and nothing is readable but what is known to be.
 */
extern HIDDEN unsigned char sys_confined;

/*
 * Private anonymous memory of size_bytes, read-write: the very call by which
 * malloc gets some, so that a filter that knows flags lets it pass, too. NULL
 * on failure.
 */
void *sys_map(size_t size_bytes);
/*
 * Address space of size_bytes without access, which is neither data nor
 * counted against overcommit, nor filled by mlockall(). NULL on failure.
 */
void *sys_reserve(size_t size_bytes);
/* Makes reserved pages usable: false if the kernel gives no memory. */
bool sys_commit(void *base, size_t size_bytes);
void sys_unmap(void *base, size_t size_bytes);

int sys_open(const char *path, int flags, int mode);
ssize_t sys_read(int fd, void *buffer, size_t size_bytes);
/* Writes all of it, across EINTR and short writes: 0 or a negative errno. */
int sys_write_all(int fd, const void *buffer, size_t size_bytes);
int sys_close(int fd);
/*
 * Between these, in a thread of the host: the limit on a file's size makes
 * write() fail and sends SIGXFSZ, which would end the host. It is taken back.
 */
struct sys_oversize {
	uint64_t mask;
	uint64_t pending;
};
void sys_oversize_begin(struct sys_oversize *oversize);
void sys_oversize_end(const struct sys_oversize *oversize);
/* At most size_bytes - 1 bytes of a small file, NUL-terminated: the length. */
ssize_t sys_read_file(const char *path, char *buffer, size_t size_bytes);

/* The names in a directory, one after the other; NULL at the end or, which
 * `error` tells, where it cannot be read. fd stays the caller's. */
struct sys_directory {
	char buffer[4096] __attribute__((aligned(8)));
	int fd;
	long at, used;
	long error; /* a negative errno or 0 */
};
void sys_directory_begin(struct sys_directory *directory, int fd);
const char *sys_directory_next(struct sys_directory *directory);
/* The number that a text begins with; 0: none. */
int sys_decimal(const char *text);

pid_t sys_getpid(void);
pid_t sys_gettid(void);
/* Nanoseconds of the given clock (CLOCK_REALTIME, CLOCK_MONOTONIC). */
uint64_t sys_clock_ns(clockid_t clock);
/*
 * These leave alone what the kernel keeps of a call that a signal interrupted
 * (resume.h), as nanosleep and FUTEX_WAIT with a time-out do not.
 */
void sys_sleep_ns(uint64_t duration_ns);
/*
 * Sleeps while *word is value, at most timeout_ns; may wake without reason.
 * flags: FUTEX_PRIVATE_FLAG or 0, as of the wake.
 */
void sys_futex_wait(const void *word, uint32_t value, uint64_t timeout_ns,
		    unsigned flags);
/* size_bytes of kernel randomness (falls back to the clock): no failure. */
void sys_random(void *buffer, size_t size_bytes);

/*
 * True under a seccomp filter, or in strict mode: either may end the process
 * for a call. It may do so for this one, if the program has entered a sandbox
 * since it started.
 */
bool sys_is_filtered(void);

/*
 * True if the 8 bytes at the 8-aligned address can be read. One system call:
 * the kernel copies a signal set from it and refuses the operation number.
 * No descriptor and no signal is involved.
 */
bool sys_readable(uintptr_t address);

/*
 * Tries that on a page without access. False if the kernel, or what stands in
 * for it, refuses the operation first: from then on nothing is readable. [init]
 */
bool sys_readable_check(void);

#endif
