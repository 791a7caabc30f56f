/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_view.h - the profile state of another process, read as it runs.
 *
 * Nothing is stopped and nothing sent: process_vm_readv(2) copies out of its
 * memory what the region's header describes (agent/region.h). The program goes
 * on meanwhile, so sums may be a sample apart; lists only grow at their heads,
 * so a link that was read stays right. What is read is checked like any other
 * input, since the process may be anything.
 */
#ifndef HEAPAGENT_REGION_VIEW_H
#define HEAPAGENT_REGION_VIEW_H

#include <sys/types.h>

#include "region.h"
#include "stacks.h"

struct region_view {
	pid_t pid;
	uint64_t base;
	struct region_header header;
	uint64_t
		*segments; /* their addresses, as many as the region can have */
};

/*
 * Finds the region by its name among the mappings, or, where the kernel keeps
 * no names, by its first bytes. 0, or -ENOENT (none), -EPROTO (of another
 * version), or -errno (-EPERM, -ESRCH).
 */
int region_view_open(struct region_view *view, pid_t pid);
void region_view_close(struct region_view *view);

/* Reads the header once more: its counters go on. 0 or -errno. */
int region_view_again(struct region_view *view);

/* Copies a table's first entry. 0; -EPROTO if there is none of that size. */
int region_view_table(const struct region_view *view, const char *name,
		      void *to, size_t stride_bytes);

/*
 * Calls visit for each bucket. 0; -EPROTO if the links make no sense; -EFAULT
 * or -ESRCH if the process ended.
 */
int region_view_buckets(const struct region_view *view,
			void (*visit)(void *context,
				      const struct bucket *bucket),
			void *context);

/* Bytes of it that are in memory or swapped out; 0 if that is not known. */
uint64_t region_view_resident_bytes(const struct region_view *view);

#endif
