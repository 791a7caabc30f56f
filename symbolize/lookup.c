/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.c - what the files of a profile say about addresses: the half that
 * takes the answers. See lookup_record.h.
 */
#include "lookup.h"

#include <stdlib.h>

#include "command.h"
#include "debuginfod.h"
#include "inlines.h"
#include "lookup_record.h"
#include "memory.h"
#include "reader_process.h"

/* A profile with more damaged files than this is made to waste time. */
#define LOST_MAX 8
#define TEXTS_MAX_BYTES (UINT64_C(1) << 30)

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
	if (!lookup->quiet)
		command_fail("%s: %s%s", file, what, more);
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

static const char *
name_of(const struct lookup *lookup, size_t question)
{
	return lookup->files[lookup->questions[question].file].name;
}

static bool
take_end(struct writer *writer, size_t question, const struct record *record)
{
	struct lookup *lookup = writer->lookup;
	not_found_add(&lookup->not_found, record->line,
		      name_of(lookup, question));
	if (record->number >= writer->text_count)
		return false;
	if (record->number) {
		lookup->damaged_count++;
		complain(lookup, writer->texts[record->number],
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
		case RECORD_WAITING:
			complain(writer->lookup, name_of(writer->lookup, first),
				 "waiting for a server of DEBUGINFOD_URLS", "");
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
			good = !left && take_end(writer, first, &record);
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
		size_t end = lookup_end_of_file(lookup, first);
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
			lookup_answer_all(lookup, next, process.pipe);
			reader_process_done(&process);
		}
		next = take_all(lookup, next, process.pipe);
		const char *why = reader_process_end(&process);
		if (next == lookup->question_count)
			break;
		lookup->lost_count++;
		complain(lookup, name_of(lookup, next), "left without names: ",
			 why ? why : "it is damaged: its reader gave up");
		next = lookup_end_of_file(lookup, next);
	}
	if (next < lookup->question_count)
		complain(lookup, name_of(lookup, next),
			 "and all files after it left without names: too many "
			 "are damaged",
			 "");
	if (!lookup->quiet)
		not_found_say(&lookup->not_found, lookup->locate->sysroot);
}
