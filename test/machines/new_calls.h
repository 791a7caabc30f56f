/* SPDX-License-Identifier: Apache-2.0 */
/*
 * new_calls.h - numbers of system calls that an old libc's headers do not name,
 * for tests that are built on such a machine. No code.
 */
#ifndef TEST_MACHINES_NEW_CALLS_H
#define TEST_MACHINES_NEW_CALLS_H

#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range __NR_close_range
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd __NR_pidfd_getfd
#endif
#ifndef SYS_openat2
#define SYS_openat2 __NR_openat2
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv __NR_futex_waitv
#endif

#endif
