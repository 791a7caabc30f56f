/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.h - what the files of a profile say about addresses.
 *
 * A process of its own reads them (reader_process.h), within bounds of time
 * and memory that grow with the files. If it dies, the file that it was at
 * is left out, said on standard error in one line, and another process goes
 * on with the next file. What is damaged in ways that its reader survives is
 * said in one line, too.
 */
#ifndef HEAPAGENT_LOOKUP_H
#define HEAPAGENT_LOOKUP_H

#include "locate.h"
#include "not_found.h"

struct lookup_file {
	const char *name;     /* of the mapping */
	const char *build_id; /* "": unknown */
};

struct lookup_question {
	size_t file; /* index in files */
	uint64_t file_offset;
	uint64_t mapping_offset; /* file offset of the mapping it is in */
};

/* A function with the file that a line of it is in. Texts may be NULL. */
struct lookup_function {
	const char *name; /* as its source has it */
	const char *system_name;
	const char *file;
	int start_line; /* in that file; 0: in another, unknown */
	uint64_t note;	/* whoever takes the answers writes here; 0 at first */
};

/* One of a chain. */
struct lookup_frame {
	struct lookup_function *function;
	int line; /* 0: unknown */
};

/* Good until the function it is given to returns. */
struct lookup_answer {
	const struct lookup_frame *frames; /* innermost first */
	size_t count;
	bool has_lines;	      /* the file has DWARF */
	bool has_offset;      /* else the symbol tables have nothing there */
	uint64_t into_symbol; /* how far into the function the address is */
};

struct lookup {
	const struct locate_options *locate;
	bool only_outermost; /* no inlined functions */
	bool only_offsets;   /* no frames */
	bool quiet;	     /* nothing on standard error */
	const struct lookup_file *files;
	/* Those of one file together. */
	const struct lookup_question *questions;
	size_t question_count;
	void (*answer)(void *data, size_t question,
		       const struct lookup_answer *answer);
	void *data;
	/* Results: */
	size_t refused_count; /* files with the wrong build-id */
	size_t damaged_count; /* files that are not used, or not all of them */
	size_t lost_count;    /* files that their reader did not survive */
	struct not_found not_found; /* files */
};

/*
 * Gives an answer to each question, file by file, but to those of lost files;
 * in a file, in the order that it is read in.
 */
void lookup_run(struct lookup *lookup);

#endif
