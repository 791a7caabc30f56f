/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_process.h - a process of its own to read files that nobody vouches
 * for.
 *
 * The libraries that read ELF and DWARF crash, loop or ask for all memory on
 * some damaged files. In a child that costs the child: it writes what it found
 * into a pipe, and the parent learns from its end what went wrong. The child
 * has no terminal and no standard streams; whatever a library has to say of
 * its own death is not seen.
 */
#ifndef HEAPAGENT_READER_PROCESS_H
#define HEAPAGENT_READER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct reader_process {
	pid_t pid; /* 0: this is the child */
	FILE *pipe;
};

/* Bounds for one file: memory beyond what there is now, and time. */
struct reader_limits {
	uint64_t memory_bytes;
	unsigned processor_s;
	unsigned wall_s; /* in which it can run; 0: no bound */
};

/* Ends the command if no process can be made. */
struct reader_process reader_process_start(void);

/*
 * In the child: the bounds from now on. Exceeding them ends it, or makes
 * allocations fail.
 */
void reader_process_limit(const struct reader_limits *limits);

/* In the child: it has written everything. */
void reader_process_done(struct reader_process *process)
	__attribute__((noreturn));

/*
 * In the parent: waits for the end. NULL if all was well; else what is wrong
 * with the file that was being read, for a person.
 */
const char *reader_process_end(struct reader_process *process);

#endif
