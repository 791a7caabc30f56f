/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_text.c - a block a thread; see thread_text.h.
 *
 *	thread TID "NAME" [STATE, MINUTES minutes]:
 *	FUNCTION
 *		FILE:LINE +0xOFFSET
 *
 * MINUTES is how long it has been blocked, from one minute on. The offset is
 * the call's in its function: what is inlined there has none. Without lines a
 * function's second line is FILE+0xOFFSET, as addr2line -e FILE has it. What
 * has no name is such an offset alone.
 */
#include "thread_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "utf8.h"

#define MINUTE_NS INT64_C(60000000000)

struct thread {
	const struct pb_sample *sample;
	int64_t tid;
	size_t index;
};

static const struct pb_label *
label_of(const struct profile *profile, const struct pb_sample *sample,
	 const char *key)
{
	for (size_t i = 0; i < sample->n_label; i++)
		if (!strcmp(profile_text(profile, sample->label[i]->key), key))
			return sample->label[i];
	return NULL;
}

static const char *
label_text(const struct profile *profile, const struct pb_sample *sample,
	   const char *key, const char *otherwise)
{
	const struct pb_label *label = label_of(profile, sample, key);
	return label ? profile_text(profile, label->str) : otherwise;
}

static int64_t
label_number(const struct profile *profile, const struct pb_sample *sample,
	     const char *key)
{
	const struct pb_label *label = label_of(profile, sample, key);
	return label ? label->num : 0;
}

bool
thread_text_is(const struct profile *profile)
{
	const struct pb_profile *pb = profile->pb;
	for (size_t i = 0; i < pb->n_sample; i++)
		if (!label_number(profile, pb->sample[i], "tid"))
			return false;
	return pb->n_sample > 0;
}

/*
 * With a backslash before each of escaped, and \xNN for a byte of what a
 * terminal would obey: text_put_quoted() in agent/text.h has it so too.
 */
static void
print_escaped(const char *text, const char *escaped)
{
	while (*text) {
		size_t control = utf8_control_bytes(text);
		if (!control) {
			if (strchr(escaped, *text))
				putchar('\\');
			putchar(*text++);
		}
		for (; control; control--)
			printf("\\x%02x", (unsigned char)*text++);
	}
}

static void
print_text(const char *text)
{
	print_escaped(text, "");
}

static void
print_place(const struct profile *profile, const struct pb_location *location)
{
	const struct pb_mapping *mapping =
		profile_mapping(profile, location->mapping_id);
	const char *file =
		mapping ? profile_text(profile, mapping->filename) : "";
	const char *slash = strrchr(file, '/');
	if (*file && *file != '[') {
		print_text(slash ? slash + 1 : file);
		printf("+0x%" PRIx64, location->address -
					      mapping->memory_start +
					      mapping->file_offset);
	} else {
		printf("0x%" PRIx64, location->address);
	}
}

static void
print_line(const struct profile *profile, struct function_offset *offsets,
	   const struct pb_location *location, const struct pb_line *line)
{
	const struct pb_function *function =
		profile_function(profile, line->function_id);
	const char *name = profile_text(profile, function->name);
	const char *file = profile_text(profile, function->filename);
	uint64_t offset;
	print_text(*name ? name : profile_text(profile, function->system_name));
	putchar('\n');
	/* The callers that were not found. */
	if (!location->address)
		return;
	putchar('\t');
	if (*file) {
		print_text(file);
		printf(":%" PRId64, line->line);
	} else {
		print_place(profile, location);
	}
	if (line == location->line[location->n_line - 1] &&
	    function_offset_find(offsets, location, &offset))
		printf(" +0x%" PRIx64, offset);
	putchar('\n');
}

static void
print_location(const struct profile *profile, struct function_offset *offsets,
	       const struct pb_location *location)
{
	/* Innermost first, what it was inlined into after it. */
	for (size_t k = 0; k < location->n_line; k++)
		print_line(profile, offsets, location, location->line[k]);
	if (location->n_line)
		return;
	print_place(profile, location);
	putchar('\n');
}

static void
print_thread(const struct profile *profile, struct function_offset *offsets,
	     const struct thread *thread)
{
	const struct pb_sample *sample = thread->sample;
	int64_t minutes = label_number(profile, sample, "blocked") / MINUTE_NS;
	printf("thread %" PRId64 " \"", thread->tid);
	print_escaped(label_text(profile, sample, "thread", ""), "\"\\");
	fputs("\" [", stdout);
	print_text(label_text(profile, sample, "state", "unknown"));
	if (minutes > 0)
		printf(", %" PRId64 " minutes", minutes);
	puts("]:");
	for (size_t i = 0; i < sample->n_location_id; i++)
		print_location(profile, offsets,
			       profile_location(profile,
						sample->location_id[i]));
	putchar('\n');
}

static int
by_number(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;
	if (!x->index != !y->index)
		return x->index ? 1 : -1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

void
thread_text_print(const struct profile *profile,
		  struct function_offset *offsets)
{
	const struct pb_profile *pb = profile->pb;
	struct thread *threads = memory_get(pb->n_sample * sizeof(*threads));
	for (size_t i = 0; i < pb->n_sample; i++)
		threads[i] = (struct thread){
			.sample = pb->sample[i],
			.tid = label_number(profile, pb->sample[i], "tid"),
			.index = i,
		};
	qsort(threads, pb->n_sample, sizeof(*threads), by_number);
	for (size_t i = 0; i < pb->n_sample; i++)
		print_thread(profile, offsets, &threads[i]);
	free(threads);
}
