/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup_record.h - what the reader of files and the command say to each other.
 *
 * The reader, a child, answers file by file, as records through a pipe; one
 * file is open at a time, and of its debug information one unit. What it has
 * for one file is sent before it turns to the next: the first file without all
 * its answers is the one that it died of.
 */
#ifndef HEAPAGENT_LOOKUP_RECORD_H
#define HEAPAGENT_LOOKUP_RECORD_H

#include <stdint.h>
#include <stdio.h>

#include "lookup.h"

/* Names of templates get long; these are no names any more. */
#define TEXT_MAX_BYTES (UINT64_C(1) << 20)

enum kind {
	RECORD_TEXT,
	RECORD_FUNCTION,
	RECORD_REFUSED,
	RECORD_WAITING,
	RECORD_FRAME,
	RECORD_ANSWER,
	RECORD_END,
};

/*
 * Texts and functions are sent once, before what refers to them, and have
 * numbers in the order in which they were; of texts, 0 is none.
 */
struct record {
	uint32_t kind;
	/*
	 * FRAME: of its function; ANSWER: the question; REFUSED: of the path;
	 * END: of the path of a damaged file
	 */
	uint32_t number;
	/* FUNCTION; REFUSED: name is of the damage, none: another build-id */
	uint32_t name, system_name, file;
	/* FRAME; FUNCTION: the first; ANSWER: has_lines; END: not_found.h */
	int32_t line;
	uint64_t value; /* TEXT: bytes that follow; ANSWER: into_symbol + 1 */
};

/* In the child: answers all questions from "first" on. */
void lookup_answer_all(const struct lookup *lookup, size_t first, FILE *out);

/* Where the questions of a file end that begin there. */
size_t lookup_end_of_file(const struct lookup *lookup, size_t first);

#endif
