/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - allocation that succeeds or ends the command.
 *
 * The command is an ordinary program: out of memory, it says so in one line
 * and exits 1. Sizes that come from input are bounded before they get here.
 */
#ifndef HEAPAGENT_MEMORY_H
#define HEAPAGENT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/*
 * More than that, beyond what the process has now, is out of memory, whatever
 * the machine has. Files that are mapped to be read do not count.
 */
void memory_bound(uint64_t bytes);

void *memory_get(size_t bytes); /* zeroed */
void *memory_resize(void *old, size_t count, size_t item_bytes);
char *memory_string(const char *text);
char *memory_format(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* What malloc has given out and not got back, libraries' blocks too. */
size_t memory_in_use(void);

/*
 * Makes room for one more item in an array that grows by doubling: capacity
 * is kept by the caller, count is how many items are in use.
 */
#define memory_grow(array, count, capacity) \
	do { \
		if ((count) == (capacity)) { \
			(capacity) = (capacity) ? 2 * (capacity) : 16; \
			(array) = memory_resize((array), (capacity), \
						sizeof(*(array))); \
		} \
	} while (0)

#endif
