/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unseen.c - who serves malloc and operator new; see unseen.h.
 *
 * The loader answers without a question of ours: relocations of this library
 * for both names are bound like the program's own, operator new's weakly, so
 * that it is NULL where there is none. (dlsym() would allocate for a name that
 * is not there, and leave an error behind for dlerror().)
 */
#include "unseen.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "compiler.h"
#include "loader.h"
#include "log.h"
#include "real.h"
#include "region.h"

#define TEXT_BYTES 256
#define NAME_BYTES 160

extern void *operator_new(size_t size) __asm__("_Znwm") __attribute__((weak));

/* In the region; written by unseen_look() before anybody reads it. */
static char *text;

int
unseen_init(void)
{
	text = region_table("unseen", TEXT_BYTES, 1, REGION_UNIT);
	return text == NULL ? -ENOMEM : 0;
}

/* True if both lie in one loaded file, which is then *object. */
static bool
same_file(uintptr_t a, uintptr_t b, struct loader_object *object)
{
	return loader_find(a, object) && b >= object->map_start &&
	       b < object->map_end;
}

/* The file's path as the loader has it, "" for the program itself. */
static void
name_of(const struct loader_object *object, char name[NAME_BYTES])
{
	struct loader_names names;

	name[0] = '\0';
	if (!loader_names(object, &names))
		return;
	name[loader_read(name, names.name, NAME_BYTES - 1)] = '\0';
}

static void
say(const char *what, const struct loader_object *object, const char *why)
{
	char name[NAME_BYTES];

	name_of(object, name);
	if (name[0] == '\0')
		log_format(text, TEXT_BYTES, "%s of the program's own%s", what,
			   why);
	else
		log_format(text, TEXT_BYTES, "%s of %s%s", what, name, why);
}

void
unseen_look(void)
{
	uintptr_t next_malloc = (uintptr_t)real.malloc;
	struct loader_object object;

	if (!same_file((uintptr_t)malloc, (uintptr_t)unseen_look, &object))
		say("malloc", &object, "");
	else if (operator_new != NULL &&
		 same_file((uintptr_t)operator_new, next_malloc, &object))
		say("operator new", &object, ", which goes past malloc");
}

bool
unseen_foreign(void)
{
	struct loader_object object;

	/* Any function of libc's that nobody replaces. */
	return !same_file((uintptr_t)real.malloc, (uintptr_t)getauxval,
			  &object);
}

const char *
unseen_text(void)
{
	return text;
}
