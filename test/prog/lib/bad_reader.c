/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bad_reader.c - preloaded into the command: libdw as it would be if the file
 * that it is asked to read were its undoing.
 *
 * BAD_READER says what happens when DWARF is opened: crash, abort, spin, wait,
 * eat (memory), exit (having said something), lie (an exit as if all were
 * well). BAD_READER_AT: at which of the files, counted from 1; 0: at each.
 */
/* LIBS: -ldl */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct dwarf;
struct elf;
struct dwarf *dwarf_begin_elf(struct elf *elf, int command, void *group);

static void
eat(void)
{
	for (;;) {
		char *piece = malloc(1 << 20);
		if (!piece)
			exit(1);
		memset(piece, 1, 1 << 20);
	}
}

static void
misbehave(const char *how)
{
	volatile unsigned turns = 0;
	puts("out of a library");
	fputs("a library's last words\n", stderr);
	if (!strcmp(how, "crash"))
		raise(SIGSEGV);
	if (!strcmp(how, "abort"))
		abort();
	while (!strcmp(how, "spin"))
		turns++;
	while (!strcmp(how, "wait"))
		pause();
	if (!strcmp(how, "eat"))
		eat();
	exit(!strcmp(how, "exit"));
}

struct dwarf *
dwarf_begin_elf(struct elf *elf, int command, void *group)
{
	static int count;
	const char *how = getenv("BAD_READER"), *at = getenv("BAD_READER_AT");
	count++;
	if (how && at && (!atoi(at) || atoi(at) == count))
		misbehave(how);
	struct dwarf *(*real)(struct elf *, int, void *) =
		(struct dwarf * (*)(struct elf *, int, void *))
			dlsym(RTLD_NEXT, "dwarf_begin_elf");
	return real(elf, command, group);
}
