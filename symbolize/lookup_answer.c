/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup_answer.c - the reader's half of a lookup: see lookup_record.h.
 */
#include <stdlib.h>
#include <string.h>

#include "debuginfod.h"
#include "demangle.h"
#include "lookup_record.h"
#include "memory.h"
#include "object.h"
#include "reader_process.h"
#include "table.h"

/*
 * DWARF takes at most twice its size when it is read, and is compressed to a
 * third at best; 100 MB of it are read in about a second. The bounds leave
 * room for what is rare, slow or being debugged.
 */
#define MEMORY_BYTES (UINT64_C(1) << 30)
#define MEMORY_FACTOR 8
#define PROCESSOR_S 10
#define PROCESSOR_BYTES_PER_S (UINT64_C(1) << 20)
#define PROCESSOR_QUESTIONS_PER_S 10000
#define WALL_FACTOR 3

size_t
lookup_end_of_file(const struct lookup *lookup, size_t first)
{
	size_t end = first + 1;
	while (end < lookup->question_count &&
	       lookup->questions[end].file == lookup->questions[first].file)
		end++;
	return end;
}

struct reader {
	const struct lookup *lookup;
	FILE *out;
	struct object *object;	 /* of the file that is open */
	struct table *texts;	 /* text → number */
	struct table *names;	 /* raw name → struct name */
	struct table *functions; /* struct function_key → number */
};

struct function_key {
	uint32_t name, system_name, file;
	int32_t start_line;
};

static void
send_record(struct reader *reader, const struct record *record)
{
	fwrite_unlocked(record, sizeof(*record), 1, reader->out);
}

static uint32_t
send_text(struct reader *reader, const char *text)
{
	size_t bytes = text ? strlen(text) : 0;
	if (!text || bytes > TEXT_MAX_BYTES)
		return 0;
	uint64_t number = table_count(reader->texts) + 1;
	if (!table_add(reader->texts, text, bytes, &number))
		return (uint32_t)number;
	send_record(reader,
		    &(struct record){ .kind = RECORD_TEXT, .value = bytes });
	fwrite_unlocked(text, 1, bytes, reader->out);
	return (uint32_t)number;
}

/* Both forms of a name, each name demangled once. */
static void
send_name(struct reader *reader, const char *raw, struct function_key *key)
{
	uint64_t both;
	size_t bytes = raw ? strlen(raw) : 0;
	if (!raw)
		return;
	if (!table_find(reader->names, raw, bytes, &both)) {
		char *clear = demangle(raw);
		both = send_text(reader, raw);
		both |= (uint64_t)send_text(reader, clear) << 32;
		free(clear);
		table_add(reader->names, raw, bytes, &both);
	}
	key->system_name = (uint32_t)both;
	key->name = (uint32_t)(both >> 32);
}

static void
send_frame(struct reader *reader, const struct inline_frame *frame)
{
	struct function_key key = { .file = send_text(reader, frame->file) };
	uint64_t number = table_count(reader->functions);
	send_name(reader, frame->name, &key);
	/* start_line is a line of file, which is where the line is. */
	if (frame->file && frame->function_file &&
	    !strcmp(frame->file, frame->function_file))
		key.start_line = frame->function_line;
	if (table_add(reader->functions, &key, sizeof(key), &number))
		send_record(reader,
			    &(struct record){ .kind = RECORD_FUNCTION,
					      .name = key.name,
					      .system_name = key.system_name,
					      .file = key.file,
					      .line = key.start_line });
	send_record(reader, &(struct record){ .kind = RECORD_FRAME,
					      .number = (uint32_t)number,
					      .line = frame->line });
}

static void
set_limits(const struct reader *reader, size_t questions, uint64_t bytes)
{
	struct reader_limits limits = {
		.memory_bytes = MEMORY_BYTES + MEMORY_FACTOR * bytes,
		.processor_s =
			(unsigned)(PROCESSOR_S + bytes / PROCESSOR_BYTES_PER_S +
				   questions / PROCESSOR_QUESTIONS_PER_S),
	};
	if (!reader->lookup->locate->debuginfod)
		limits.wall_s = WALL_FACTOR * limits.processor_s;
	reader_process_limit(&limits);
}

/* For a server: of the file that is being opened. */
static void
send_waiting(void *data)
{
	struct reader *reader = data;
	send_record(reader, &(struct record){ .kind = RECORD_WAITING });
	fflush(reader->out);
}

/* What went before is sent; from here on the file has its own bounds. */
static void
open_file(struct reader *reader, size_t first, size_t end)
{
	const struct lookup *lookup = reader->lookup;
	const struct lookup_file *file =
		&lookup->files[lookup->questions[first].file];
	fflush(reader->out);
	set_limits(reader, end - first, 0);
	reader->object =
		object_open(lookup->locate, file->name, file->build_id);
	set_limits(reader, end - first, object_bytes(reader->object));
	const char *damage;
	const char *refused = object_refused(reader->object, &damage);
	if (!refused)
		return;
	struct record record = { .kind = RECORD_REFUSED };
	record.number = send_text(reader, refused);
	record.name = send_text(reader, damage);
	send_record(reader, &record);
}

static void
close_file(struct reader *reader)
{
	struct record record = { .kind = RECORD_END };
	record.number = send_text(reader, object_damaged(reader->object));
	record.line = object_not_found(reader->object);
	send_record(reader, &record);
	object_close(reader->object);
}

static void
answer(struct reader *reader, size_t number)
{
	struct inline_frame frames[INLINES_MAX];
	const struct lookup *lookup = reader->lookup;
	const struct lookup_question *question = &lookup->questions[number];
	struct object *object = reader->object;
	struct record record = { .kind = RECORD_ANSWER,
				 .number = (uint32_t)number,
				 .line = object_has_lines(object) };
	if (lookup->only_offsets) {
		if (object_function_offset(object, question->file_offset,
					   question->mapping_offset,
					   &record.value))
			record.value++;
	} else {
		size_t count = object_find(object, question->file_offset,
					   question->mapping_offset,
					   lookup->only_outermost, frames);
		for (size_t i = 0; i < count; i++)
			send_frame(reader, &frames[i]);
	}
	send_record(reader, &record);
}

/* A question, and where the file would have it asked. */
struct place {
	size_t question;
	size_t order;
	uint64_t offset;
};

static int
compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void
answer_file(struct reader *reader, size_t first, size_t end)
{
	const struct lookup_question *questions = reader->lookup->questions;
	struct place *places = memory_get((end - first) * sizeof(*places));
	open_file(reader, first, end);
	for (size_t i = first; i < end; i++)
		places[i - first] = (struct place){
			.question = i,
			.order = object_order(reader->object,
					      questions[i].file_offset,
					      questions[i].mapping_offset),
			.offset = questions[i].file_offset,
		};
	qsort(places, end - first, sizeof(*places), compare);
	for (size_t i = 0; i < end - first; i++)
		answer(reader, places[i].question);
	close_file(reader);
	free(places);
}

void
lookup_answer_all(const struct lookup *lookup, size_t first, FILE *out)
{
	struct reader reader = { .lookup = lookup, .out = out };
	reader.texts = table_new();
	reader.names = table_new();
	reader.functions = table_new();
	debuginfod_on_wait(send_waiting, &reader);
	while (first < lookup->question_count) {
		size_t end = lookup_end_of_file(lookup, first);
		answer_file(&reader, first, end);
		first = end;
	}
}
