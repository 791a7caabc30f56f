/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_profile.c - where frames lie, as far as readers are concerned; see
 * text_profile.h.
 *
 * A module's place is settled when the first of its frames is written. That it
 * is loaded now is asked of modules_find(): a record of a library that is gone
 * does not come back from there.
 */
#include "text_profile.h"

#include <stdbool.h>
#include <string.h>

#include "compiler.h"
#include "frame.h"
#include "modules.h"
#include "region.h"

#define MODULE_EXECUTABLE 1
#define PAGE_BYTES UINT64_C(4096)
/* The first address beyond user space of four-level page tables. */
#define NOWHERE (UINT64_C(1) << 47)
#define ADDRESS_DIGITS 8 /* as the kernel pads those of a mapping */

struct text_profile {
	struct text *out;
	/* Those pseudo frames that were met; see frame.h. */
	bool pseudo_met[FRAME_PSEUDO_LAST + 1];
	uint64_t next_nowhere;
	unsigned module_count;
	/* Its bias, plus one, so that 0 says that no frame of it was met. */
	uint64_t places[MODULES_MAX];
};
_Static_assert(sizeof(struct text_profile) + CACHE_LINE <=
		       TEXT_PROFILE_ARENA_BYTES,
	       "the profile fits in what text_profile.h promises");

static bool
is_loaded(unsigned number, const struct module *module)
{
	return modules_find((uintptr_t)module->map_start) == number;
}

/* What is added to an ELF virtual address of the module. */
static uint64_t
bias_of(struct text_profile *profile, unsigned number)
{
	const struct module *module = module_at(number);
	uint64_t bias = module->bias;

	if (profile->places[number] != 0)
		return profile->places[number] - 1;
	if (!is_loaded(number, module)) {
		bias = profile->next_nowhere - module->text_start;
		/* With a page between two, so that they stay apart. */
		profile->next_nowhere +=
			ALIGN_UP(module->text_end - module->text_start,
				 PAGE_BYTES) +
			PAGE_BYTES;
	}
	profile->places[number] = bias + 1;
	return bias;
}

struct text_profile *
text_profile_open(struct arena *arena, struct text *out)
{
	struct text_profile *profile = arena_alloc(arena, sizeof(*profile));

	if (profile == NULL)
		return NULL;
	profile->out = out;
	/* The first pages are those of pseudo frames. */
	profile->next_nowhere = NOWHERE + FRAME_PSEUDO_LAST * PAGE_BYTES;
	/* Those that are found meanwhile are in no frame of this dump. */
	profile->module_count = MIN(modules_count(), MODULES_MAX);
	/* The first mapping is taken for the main program's. */
	if (profile->module_count > MODULE_EXECUTABLE)
		(void)bias_of(profile, MODULE_EXECUTABLE);
	return profile;
}

struct text *
text_profile_stream(struct text_profile *profile)
{
	return profile->out;
}

/* A number that was never given out is no module's. */
static unsigned
module_of(const struct text_profile *profile, uint64_t frame)
{
	unsigned number = frame_module(frame);

	return number < profile->module_count ? number : FRAME_MODULE_NONE;
}

static uint64_t
pseudo_page(uint64_t frame)
{
	return NOWHERE + (frame - 1) * PAGE_BYTES;
}

/* The address of the call. */
static uint64_t
address_of(struct text_profile *profile, uint64_t frame)
{
	unsigned number = module_of(profile, frame);

	if (frame_pseudo_name(frame) != NULL) {
		profile->pseudo_met[frame] = true;
		return pseudo_page(frame);
	}
	if (number == FRAME_MODULE_NONE)
		return frame_offset(frame);
	/* Modulo 2^48 as the offset was: it may have been negative. */
	return (frame_offset(frame) + bias_of(profile, number)) &
	       FRAME_OFFSET_MASK;
}

void
text_profile_stack(struct text_profile *profile, const uint64_t *frames,
		   unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		text_put(profile->out, " 0x");
		text_hex(profile->out, address_of(profile, frames[i]) + 1, 1);
	}
}

static const char *
path_of(unsigned number)
{
	return region_at(module_at(number)->path);
}

static void
put_frame(struct text_profile *profile, uint64_t frame)
{
	struct text *out = profile->out;
	unsigned number = module_of(profile, frame);
	const char *path, *slash;

	text_put(out, "#\t0x");
	text_hex(out, address_of(profile, frame), 1);
	if (number != FRAME_MODULE_NONE) {
		path = path_of(number);
		slash = strrchr(path, '/');
		text_put(out, "\t");
		text_put_clean(out, slash == NULL ? path : slash + 1);
		text_put(out, "+0x");
		text_hex(out, frame_offset(frame), 1);
	} else if (frame_pseudo_name(frame) != NULL) {
		text_put(out, "\t");
		text_put(out, frame_pseudo_name(frame));
	}
	text_put(out, "\n");
}

void
text_profile_frames(struct text_profile *profile, const uint64_t *frames,
		    unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		put_frame(profile, frames[i]);
}

void
text_profile_build_ids(struct text_profile *profile)
{
	struct text *out = profile->out;

	for (unsigned i = 1; i < profile->module_count; i++) {
		const struct module *module = module_at(i);

		if (profile->places[i] == 0 || module->build_id_bytes == 0)
			continue;
		text_put(out, "# build_id = ");
		for (unsigned k = 0;
		     k < module->build_id_bytes && k < MODULE_BUILD_ID_MAX; k++)
			text_hex(out, module->build_id[k], 2);
		text_put(out, " 0x");
		text_hex(out, profile->places[i] - 1 + module->text_start, 1);
		text_put(out, "\n");
	}
}

/* start-end perms offset device inode path: proc_pid_maps(5). */
static void
put_mapping(struct text *out, uint64_t start, uint64_t end, uint64_t offset,
	    const char *path)
{
	text_hex(out, start, ADDRESS_DIGITS);
	text_put(out, "-");
	text_hex(out, end, ADDRESS_DIGITS);
	text_put(out, " r-xp ");
	text_hex(out, offset, ADDRESS_DIGITS);
	text_put(out, " 00:00 0 ");
	text_put_clean(out, path);
	text_put(out, "\n");
}

void
text_profile_mappings(struct text_profile *profile)
{
	for (unsigned i = 1; i < profile->module_count; i++) {
		const struct module *module = module_at(i);
		uint64_t bias = profile->places[i] - 1;

		if (profile->places[i] == 0)
			continue;
		put_mapping(profile->out, bias + module->text_start,
			    bias + module->text_end, module->text_file_offset,
			    path_of(i));
	}
	for (uint64_t frame = 1; frame <= FRAME_PSEUDO_LAST; frame++)
		if (profile->pseudo_met[frame])
			put_mapping(profile->out, pseudo_page(frame),
				    pseudo_page(frame) + PAGE_BYTES, 0,
				    frame_pseudo_name(frame));
}
