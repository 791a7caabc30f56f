/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.c - what the files of a profile say about addresses.
 *
 * The child answers file by file, as records through a pipe; one file is open
 * at a time, and of its debug information one unit. What it has for one file
 * is sent before it turns to the next: the first file without all its answers
 * is the one that it died of.
 */
#include "lookup.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfod.h"
#include "demangle.h"
#include "memory.h"
#include "object.h"
#include "reader_process.h"
#include "table.h"
#include "utf8.h"

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

/* A profile with more damaged files than this is made to waste time. */
#define LOST_MAX 8
/* Names of templates get long; these are no names any more. */
#define TEXT_MAX_BYTES (UINT64_C(1) << 20)
#define TEXTS_MAX_BYTES (UINT64_C(1) << 30)

enum kind {
	RECORD_TEXT,
	RECORD_FUNCTION,
	RECORD_REFUSED,
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
	int32_t line;	/* FRAME; FUNCTION: the first; ANSWER: has_lines */
	uint64_t value; /* TEXT: bytes that follow; ANSWER: into_symbol + 1 */
};

/* The child's half. */
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

/* Where the questions of a file end that begin here. */
static size_t
end_of_file(const struct lookup *lookup, size_t first)
{
	size_t end = first + 1;
	while (end < lookup->question_count &&
	       lookup->questions[end].file == lookup->questions[first].file)
		end++;
	return end;
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

static void
answer_all(const struct lookup *lookup, size_t first, FILE *out)
{
	struct reader reader = { .lookup = lookup, .out = out };
	reader.texts = table_new();
	reader.names = table_new();
	reader.functions = table_new();
	while (first < lookup->question_count) {
		size_t end = end_of_file(lookup, first);
		answer_file(&reader, first, end);
		first = end;
	}
}

/* The parent's half. */
struct writer {
	struct lookup *lookup;
	FILE *in;
	char **texts; /* by number; the first is NULL */
	size_t text_count, text_capacity;
	uint64_t text_bytes;
	struct lookup_function *functions; /* by number */
	size_t function_count, function_capacity;
	struct lookup_frame frames[INLINES_MAX];
	size_t numbers[INLINES_MAX]; /* of the frames' functions */
	size_t frame_count;
};

/* A child that its input has broken may write anything. */
static bool
take_text(struct writer *writer, uint64_t bytes)
{
	if (bytes > TEXT_MAX_BYTES ||
	    writer->text_bytes + bytes > TEXTS_MAX_BYTES)
		return false;
	char *text = memory_get(bytes + 1);
	memory_grow(writer->texts, writer->text_count, writer->text_capacity);
	writer->texts[writer->text_count++] = text;
	writer->text_bytes += bytes;
	return fread_unlocked(text, 1, bytes, writer->in) == bytes;
}

static bool
take_function(struct writer *writer, const struct record *record)
{
	if (record->name >= writer->text_count ||
	    record->system_name >= writer->text_count ||
	    record->file >= writer->text_count)
		return false;
	memory_grow(writer->functions, writer->function_count,
		    writer->function_capacity);
	writer->functions[writer->function_count++] = (struct lookup_function){
		.name = writer->texts[record->name],
		.system_name = writer->texts[record->system_name],
		.file = writer->texts[record->file],
		.start_line = record->line,
	};
	return true;
}

static bool
take_frame(struct writer *writer, const struct record *record)
{
	if (writer->frame_count == INLINES_MAX ||
	    record->number >= writer->function_count)
		return false;
	writer->numbers[writer->frame_count] = record->number;
	writer->frames[writer->frame_count++].line = record->line;
	return true;
}

static void
complain(const struct lookup *lookup, const char *file, const char *what,
	 const char *more)
{
	if (lookup->quiet)
		return;
	char *line = memory_format("heapagent: %s: %s%s", file, what, more);
	utf8_make_printable(line);
	fprintf(stderr, "%s\n", line);
	free(line);
}

static bool
take_refused(struct writer *writer, size_t question,
	     const struct record *record)
{
	struct lookup *lookup = writer->lookup;
	if (!record->number || record->number >= writer->text_count ||
	    record->name >= writer->text_count)
		return false;
	const char *path = writer->texts[record->number];
	if (record->name) {
		lookup->damaged_count++;
		complain(lookup, path,
			 "not used: ", writer->texts[record->name]);
		return true;
	}
	lookup->refused_count++;
	complain(lookup, path,
		 "not used: it is not the file of the profile, whose build-id "
		 "is ",
		 lookup->files[lookup->questions[question].file].build_id);
	return true;
}

static bool
take_end(struct writer *writer, const struct record *record)
{
	if (record->number >= writer->text_count)
		return false;
	if (record->number) {
		writer->lookup->damaged_count++;
		complain(writer->lookup, writer->texts[record->number],
			 "names or lines are missing: its debug information "
			 "is damaged, or of a form unknown here",
			 "");
	}
	return true;
}

static bool
take_answer(struct writer *writer, const struct record *record)
{
	const struct lookup_answer answer = {
		.frames = writer->frames,
		.count = writer->frame_count,
		.has_lines = record->line,
		.has_offset = record->value,
		.into_symbol = record->value - 1,
	};
	/* Now that none moves any more. */
	for (size_t i = 0; i < writer->frame_count; i++)
		writer->frames[i].function =
			&writer->functions[writer->numbers[i]];
	writer->lookup->answer(writer->lookup->data, record->number, &answer);
	writer->frame_count = 0;
	return true;
}

/* False if the child ended before the file's end, or wrote what is none. */
static bool
take_file(struct writer *writer, size_t first, size_t end)
{
	struct record record;
	size_t left = end - first;
	bool good = true, ended = false;
	while (good && !ended &&
	       fread_unlocked(&record, sizeof(record), 1, writer->in) == 1) {
		switch (record.kind) {
		case RECORD_TEXT:
			good = take_text(writer, record.value);
			break;
		case RECORD_FUNCTION:
			good = take_function(writer, &record);
			break;
		case RECORD_REFUSED:
			good = take_refused(writer, first, &record);
			break;
		case RECORD_FRAME:
			good = take_frame(writer, &record);
			break;
		case RECORD_ANSWER:
			good = left && record.number >= first &&
			       record.number < end &&
			       take_answer(writer, &record);
			left--;
			break;
		case RECORD_END:
			good = !left && take_end(writer, &record);
			ended = true;
			break;
		default:
			good = false;
		}
	}
	return good && ended;
}

/*
 * The answers of one child. Returns the first question of the file that it
 * did not answer, or the number of questions.
 */
static size_t
take_all(struct lookup *lookup, size_t first, FILE *in)
{
	struct writer writer = { .lookup = lookup, .in = in };
	memory_grow(writer.texts, writer.text_count, writer.text_capacity);
	writer.texts[writer.text_count++] = NULL;
	while (first < lookup->question_count) {
		size_t end = end_of_file(lookup, first);
		if (!take_file(&writer, first, end))
			break;
		first = end;
	}
	for (size_t i = 0; i < writer.text_count; i++)
		free(writer.texts[i]);
	free(writer.texts);
	free(writer.functions);
	return first;
}

void
lookup_run(struct lookup *lookup)
{
	size_t next = 0;
	if (lookup->locate->debuginfod)
		debuginfod_load();
	while (next < lookup->question_count && lookup->lost_count < LOST_MAX) {
		struct reader_process process = reader_process_start();
		if (!process.pid) {
			answer_all(lookup, next, process.pipe);
			reader_process_done(&process);
		}
		next = take_all(lookup, next, process.pipe);
		const char *why = reader_process_end(&process);
		if (next == lookup->question_count)
			break;
		lookup->lost_count++;
		complain(lookup,
			 lookup->files[lookup->questions[next].file].name,
			 "left without names: ",
			 why ? why : "it is damaged: its reader gave up");
		next = end_of_file(lookup, next);
	}
	if (next < lookup->question_count)
		complain(lookup,
			 lookup->files[lookup->questions[next].file].name,
			 "and all files after it left without names: too many "
			 "are damaged",
			 "");
}
