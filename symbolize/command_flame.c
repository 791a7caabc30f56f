/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_flame.c - `heapagent flame`: one page with a flame graph.
 *
 * The page holds the whole tree, with every sample type, as lists: parents
 * before children, so that neither side recurses, however deep stacks are.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "estimate.h"
#include "flame_page.h"
#include "flame_tree.h"
#include "heading.h"
#include "json.h"
#include "memory.h"
#include "missing.h"
#include "output.h"
#include "profile_file.h"
#include "units.h"
#include "utf8.h"
#include "view.h"

/* A frame of less than this part of every total is no pixel on any screen. */
#define SMALLEST_PART 2e-5

struct flame {
	const struct view *view;
	const struct samples *before; /* NULL: no difference */
	const struct samples *after;
	int *types;	   /* of after */
	int *before_types; /* the same ones in before */
	size_t type_count;
	struct flame_tree *tree;
	double *base_values; /* as tree->values; NULL: no difference */
	double *base_variances;
	uint32_t *kept; /* node → its number in the page, or LEFT_OUT */
	size_t kept_count;
};
#define LEFT_OUT UINT32_MAX

static void
choose_types(struct flame *flame)
{
	const struct profile *after = flame->after->profile;
	size_t count = flame->after->type_count;
	flame->types = memory_get(count * sizeof(int));
	flame->before_types = memory_get(count * sizeof(int));
	for (size_t i = 0; i < count; i++) {
		const char *name =
			profile_text(after, after->pb->sample_type[i]->type);
		int same = flame->before
				   ? profile_sample_type(flame->before->profile,
							 name)
				   : (int)i;
		if (same < 0)
			continue;
		flame->types[flame->type_count] = (int)i;
		flame->before_types[flame->type_count++] = same;
	}
}

static void
build(struct flame *flame)
{
	flame->tree = flame_tree_new(flame->type_count);
	flame_tree_add(flame->tree, flame->after, flame->types);
	if (!flame->before)
		return;
	struct flame_tree *base = flame_tree_new(flame->type_count);
	flame_tree_add(base, flame->before, flame->before_types);
	uint32_t *numbers = flame_tree_align(flame->tree, base);
	size_t per_node = flame->type_count;
	size_t bytes = flame->tree->count * per_node * sizeof(double);
	flame->base_values = memory_get(bytes);
	flame->base_variances = memory_get(bytes);
	for (size_t i = 0; i < base->count * per_node; i++) {
		size_t to = numbers[i / per_node] * per_node + i % per_node;
		flame->base_values[to] = base->values[i];
		flame->base_variances[to] = base->variances[i];
	}
	free(numbers);
	flame_tree_free(base);
}

static bool
is_visible(const struct flame *flame, size_t node)
{
	for (size_t i = 0; i < flame->type_count; i++) {
		size_t place = node * flame->type_count + i;
		double value = fabs(flame->tree->values[place]);
		double total = fabs(flame->tree->values[i]);
		if (value > 0 && value >= SMALLEST_PART * total)
			return true;
		if (!flame->base_values)
			continue;
		value = fabs(flame->base_values[place]);
		total = fabs(flame->base_values[i]);
		if (value > 0 && value >= SMALLEST_PART * total)
			return true;
	}
	return false;
}

static void
choose_nodes(struct flame *flame)
{
	struct flame_tree *tree = flame->tree;
	flame->kept = memory_get(tree->count * sizeof(*flame->kept));
	flame->kept_count = 1;
	for (size_t i = 1; i < tree->count; i++)
		flame->kept[i] = flame->kept[tree->parents[i]] != LEFT_OUT &&
						 is_visible(flame, i)
					 ? (uint32_t)flame->kept_count++
					 : LEFT_OUT;
}

static void
write_list(FILE *out, const char *name, const struct flame *flame,
	   const double *values)
{
	size_t per_node = flame->type_count;
	fprintf(out, ",\n\"%s\":[", name);
	for (size_t i = 0; i < flame->tree->count * per_node; i++) {
		if (flame->kept[i / per_node] == LEFT_OUT)
			continue;
		if (i)
			fputc(',', out);
		json_number(out, values[i]);
	}
	fputc(']', out);
}

/* Parents as numbers of the page, names as numbers of its own table. */
static void
write_nodes(FILE *out, const struct flame *flame)
{
	const struct flame_tree *tree = flame->tree;
	const struct samples *samples = flame->after;
	uint32_t *numbers =
		memory_get((samples->name_count + 1) * sizeof(*numbers));
	uint32_t count = 0;
	fputs(",\n\"names\":[\"all\"", out);
	for (size_t i = 1; i < tree->count; i++) {
		uint32_t name = tree->names[i];
		if (flame->kept[i] == LEFT_OUT || numbers[name])
			continue;
		numbers[name] = ++count;
		fputs(",\n", out);
		json_string(out, samples->names[name]);
	}
	fputs("],\n\"name_of\":[0", out);
	for (size_t i = 1; i < tree->count; i++)
		if (flame->kept[i] != LEFT_OUT)
			fprintf(out, ",%u", numbers[tree->names[i]]);
	fputs("],\n\"parents\":[0", out);
	for (size_t i = 1; i < tree->count; i++)
		if (flame->kept[i] != LEFT_OUT)
			fprintf(out, ",%u", flame->kept[tree->parents[i]]);
	fputc(']', out);
	free(numbers);
}

static void
write_head(FILE *out, const struct flame *flame, int type)
{
	const struct profile *profile = flame->after->profile;
	const char *program = heading_program(profile);
	int shown = 0;
	char *subtitle =
		flame->before
			? memory_format("%s → %s", flame->before->profile->path,
					profile->path)
			: memory_string(profile->path);
	char *missing = missing_text(profile);
	for (char *c = missing; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
	char *with_missing = memory_format("%s %s", subtitle, missing);
	free(missing);
	free(subtitle);
	subtitle = with_missing;
	utf8_make_printable(subtitle);
	fputs("{\"title\":", out);
	json_string(out, *program ? program : "heap profile");
	fputs(",\"subtitle\":", out);
	json_string(out, subtitle);
	free(subtitle);
	fprintf(out, ",\"diff\":%s,\"omitted\":%zu,\"types\":[",
		flame->before ? "true" : "false",
		flame->tree->count - flame->kept_count);
	for (size_t i = 0; i < flame->type_count; i++) {
		int number = flame->types[i];
		const struct pb_value_type *value =
			profile->pb->sample_type[number];
		fputs(i ? ",{\"name\":" : "{\"name\":", out);
		json_string(out, profile_text(profile, value->type));
		fputs(",\"unit\":", out);
		json_string(out, profile_text(profile, value->unit));
		fprintf(out, ",\"estimate\":%s}",
			estimate_is_one(profile, number) ? "true" : "false");
		if (number == type)
			shown = (int)i;
	}
	fprintf(out, "],\"default_type\":%d", shown);
}

static int
write_page(const struct flame *flame, int type, const char *path)
{
	struct flame_page page = flame_page();
	struct reason reason;
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return command_fail("out of memory");
	fwrite(page.before, 1, page.before_bytes, out);
	write_head(out, flame, type);
	write_nodes(out, flame);
	write_list(out, "values", flame, flame->tree->values);
	write_list(out, "variances", flame, flame->tree->variances);
	if (flame->before) {
		write_list(out, "base_values", flame, flame->base_values);
		write_list(out, "base_variances", flame, flame->base_variances);
	}
	fputs("}\n", out);
	fwrite(page.after, 1, page.after_bytes, out);
	int status = COMMAND_OK;
	if (fclose(out))
		status = command_fail("out of memory");
	else if (profile_file_write_plain(path, text, bytes, &reason))
		status = command_fail("%s: %s", path, reason.text);
	if (!status) {
		char *what = memory_format("%zu frames, %zu KiB",
					   flame->kept_count, bytes >> 10);
		output_made(path, what);
		free(what);
	}
	free(text);
	return status;
}

static int
show(struct view *view, const struct profile *a, const struct profile *b,
     const char *out)
{
	struct flame flame = { .view = view };
	struct samples *before =
		a ? samples_make(a, &view->filter, NULL) : NULL;
	struct samples *after = samples_make(b, &view->filter, before);
	int type = view_type(view, b);
	int status = type < 0 ? COMMAND_FAILED : COMMAND_OK;
	flame.before = before;
	flame.after = after;
	choose_types(&flame);
	if (!status && !flame.type_count)
		status = command_fail("%s: no sample type that %s has", a->path,
				      b->path);
	if (!status) {
		build(&flame);
		choose_nodes(&flame);
		char *path = output_name(b->path, out, ".html");
		status = write_page(&flame, type, path);
		free(path);
		flame_tree_free(flame.tree);
	}
	if (!status && view->lost)
		status = COMMAND_FAILED;
	free(flame.types);
	free(flame.before_types);
	free(flame.base_values);
	free(flame.base_variances);
	free(flame.kept);
	samples_free(before);
	samples_free(after);
	return status;
}

struct call {
	struct view view;
	const char *out;
	bool diff;
};

enum { OPT_DIFF = OPT_OWN };

static const struct option_row own_options[] = {
	{ 'o', "output", "OUT", "the page, a directory for it, or - (X.html)" },
	{ OPT_DIFF, "diff", NULL, "two profiles: red grew, blue shrank" },
	{ .name = NULL },
};

static const char *
set(void *context, int key, const char *value)
{
	struct call *call = context;
	if (key == 'o') {
		call->out = value;
		return options_output(value);
	}
	if (key == OPT_DIFF)
		call->diff = true;
	else
		return view_set(&call->view, key, value);
	return NULL;
}

static int
run(int argc, char **argv)
{
	struct call call = { .out = NULL };
	struct profile *profiles[2] = { NULL, NULL };
	view_init(&call.view);
	int status = options_read(&command_flame, argc, argv, set, &call);
	int files = call.diff ? 2 : 1;
	if (!status)
		status =
			options_count(&command_flame, argc, argv, files, files);
	if (!status && call.diff)
		status = view_read(&call.view, argv[optind], &profiles[0]);
	if (!status)
		status = view_read(&call.view, argv[argc - 1], &profiles[1]);
	if (!status)
		status = show(&call.view, profiles[0], profiles[1], call.out);
	profile_free(profiles[0]);
	profile_free(profiles[1]);
	view_end(&call.view);
	return status;
}

static const struct option_row *const options[] = {
	own_options,
	view_options,
	options_symbolizer,
	NULL,
};

const struct command command_flame = {
	.name = "flame",
	.arguments = "FILE | --diff BEFORE AFTER",
	.summary = "A flame graph as one page, to search and to zoom",
	.options = options,
	.run = run,
};
