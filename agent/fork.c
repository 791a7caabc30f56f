/* SPDX-License-Identifier: Apache-2.0 */
/* fork.c - a page that the kernel wipes in forked children; see fork.h. */
#include "fork.h"

#include <stddef.h>
#include <sys/mman.h>

#include "sys.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#define PAGE_BYTES 4096

/* What stands in before fork_init(), or where the kernel is too old. */
static uint32_t always_alive = 1;

uint32_t *fork_alive = &always_alive;

/* Immutable after fork_init(). */
static void (*run_in_child)(void);

void
fork_init(void (*child)(void))
{
	uint32_t *page = sys_map(PAGE_BYTES);

	if (page == NULL)
		return;
	if (sys_failed(sys_call3(SYS_madvise, page, PAGE_BYTES,
				 MADV_WIPEONFORK))) {
		sys_unmap(page, PAGE_BYTES);
		return;
	}
	run_in_child = child;
	*page = 1;
	fork_alive = page;
}

/*
 * What pthread_atfork() calls, which is linked into each library by itself;
 * GLIBC_2.3.2. Weak, for other libcs.
 */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void),
			     void (*child)(void), void *library)
	__attribute__((weak));
extern HIDDEN void *__dso_handle;

void
fork_watch(void (*before)(void), void (*in_child)(void))
{
	if (__register_atfork != NULL)
		(void)__register_atfork(before, NULL, in_child, &__dso_handle);
}

void
fork_noticed(void)
{
	uint32_t expected = 0;

	/*
	 * Acquire-release: of threads that notice at a time one runs the
	 * function. Others may take a sample before it is done, which it
	 * allows for.
	 */
	if (atomic_cas_acq_rel(fork_alive, &expected, 1))
		run_in_child();
}
