/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.c - the file's ELF header, program headers and section names decide;
 * a script is followed through its #! lines.
 */
#include "program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The kernel reads this much of a #! line (BINPRM_BUF_SIZE, Linux 5.1). */
#define SCRIPT_LINE_BYTES 256
/* It gives up after so many interpreters in turn (fs/exec.c). */
#define SCRIPT_DEPTH 5
/* Go's linker writes it in every program since Go 1.13, also when stripped. */
#define GO_SECTION ".go.buildinfo"

static enum program_kind find(struct program *program, const char *name,
			      int depth);
static enum program_kind examine(struct program *program, const char *path,
				 int depth);

__attribute__((format(printf, 3, 4))) static enum program_kind
because(struct program *program, enum program_kind kind, const char *format,
	...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(program->reason, sizeof(program->reason), format, args);
	va_end(args);
	return kind;
}

static bool
read_at(int fd, void *buffer, size_t size_bytes, uint64_t offset)
{
	return pread(fd, buffer, size_bytes, (off_t)offset) ==
	       (ssize_t)size_bytes;
}

/* Whether running the file gives other rights than the caller's. */
static bool
raises_privileges(int fd, const struct stat *status)
{
	if ((status->st_mode & S_ISUID) && status->st_uid != getuid())
		return true;
	/* Without the group's x bit, S_ISGID once meant mandatory locking. */
	if ((status->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
	    status->st_gid != getgid())
		return true;
	return getuid() != 0 &&
	       fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

/* The loader that a program names, "" if it has none. */
static void
read_interpreter(int fd, const Elf64_Ehdr *header, char path[PATH_MAX])
{
	Elf64_Phdr segment;

	path[0] = '\0';
	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (!read_at(fd, &segment, sizeof(segment),
			     header->e_phoff + (uint64_t)i * sizeof(segment)) ||
		    segment.p_type != PT_INTERP)
			continue;
		/* With its end, by the ELF specification. */
		if (segment.p_filesz > 1 && segment.p_filesz <= PATH_MAX &&
		    read_at(fd, path, segment.p_filesz, segment.p_offset))
			path[segment.p_filesz - 1] = '\0';
		else
			strcpy(path, "?"); /* the kernel will say */
		return;
	}
}

static bool
has_section(int fd, const Elf64_Ehdr *header, const char *wanted)
{
	Elf64_Shdr names, section;
	char name[32];
	size_t length = strlen(wanted) + 1;

	if (!read_at(fd, &names, sizeof(names),
		     header->e_shoff +
			     (uint64_t)header->e_shstrndx * sizeof(names)))
		return false;
	for (unsigned i = 0; i < header->e_shnum; i++)
		if (read_at(fd, &section, sizeof(section),
			    header->e_shoff + (uint64_t)i * sizeof(section)) &&
		    read_at(fd, name, length,
			    names.sh_offset + section.sh_name) &&
		    memcmp(name, wanted, length) == 0)
			return true;
	return false;
}

static enum program_kind
examine_elf(struct program *program, const char *path, int fd)
{
	char interpreter[PATH_MAX];
	Elf64_Ehdr header;

	if (!read_at(fd, &header, sizeof(header), 0))
		return because(program, PROGRAM_NOT_EXECUTABLE,
			       "%s is a truncated ELF file", path);
	if (header.e_ident[EI_CLASS] != ELFCLASS64)
		return because(program, PROGRAM_UNFIT,
			       "%s is a 32-bit program, the agent is 64-bit",
			       path);
	if (header.e_machine != EM_X86_64)
		return because(program, PROGRAM_UNFIT,
			       "%s is for another machine (ELF machine %u)",
			       path, header.e_machine);
	if (has_section(fd, &header, GO_SECTION))
		return because(program, PROGRAM_UNFIT,
			       "%s is a Go program: its heap is not malloc's, "
			       "and its runtime takes every signal",
			       path);
	read_interpreter(fd, &header, interpreter);
	if (interpreter[0] == '\0')
		return because(program, PROGRAM_UNFIT,
			       "%s is statically linked, nothing can be "
			       "preloaded into it",
			       path);
	if (strstr(interpreter, "/ld-musl-"))
		return because(program, PROGRAM_UNFIT,
			       "%s is linked with musl, the agent works with "
			       "glibc alone",
			       path);
	snprintf(program->image, sizeof(program->image), "%s", path);
	memcpy(program->loader, interpreter, sizeof(program->loader));
	return PROGRAM_FITS;
}

/* The first two words after "#!"; NULL where there is none. */
static char *
script_words(char *line, char **argument)
{
	char *save;
	char *interpreter = strtok_r(line + 2, " \t", &save);

	*argument = interpreter ? strtok_r(NULL, " \t", &save) : NULL;
	return interpreter;
}

static enum program_kind
examine_script(struct program *program, char *line, int depth)
{
	struct program started = { .path = "" };
	char *argument;
	char *interpreter = script_words(line, &argument);
	const char *base;
	enum program_kind kind;

	if (!interpreter)
		return because(program, PROGRAM_NOT_EXECUTABLE,
			       "its #! line names no interpreter");
	if (depth >= SCRIPT_DEPTH)
		return because(program, PROGRAM_NOT_EXECUTABLE,
			       "its #! lines lead from script to script");
	kind = examine(program, interpreter, depth + 1);
	base = strrchr(interpreter, '/');
	/* `#!/usr/bin/env python3`: what env will start is what matters. */
	if (kind != PROGRAM_FITS || !base || strcmp(base, "/env") != 0 ||
	    !argument || argument[0] == '-' || strchr(argument, '='))
		return kind;
	kind = find(&started, argument, depth + 1);
	memcpy(program->reason, started.reason, sizeof(program->reason));
	memcpy(program->image, started.image, sizeof(program->image));
	memcpy(program->loader, started.loader, sizeof(program->loader));
	return kind;
}

static enum program_kind
examine_open(struct program *program, const char *path, int fd, int depth)
{
	char line[SCRIPT_LINE_BYTES + 1];
	struct stat status;
	ssize_t got;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return because(program, PROGRAM_NOT_EXECUTABLE,
			       "%s is not a regular file", path);
	got = pread(fd, line, SCRIPT_LINE_BYTES, 0);
	line[got > 0 ? got : 0] = '\0';
	if (strncmp(line, "#!", 2) == 0) {
		line[strcspn(line, "\n")] = '\0';
		return examine_script(program, line, depth);
	}
	if (raises_privileges(fd, &status))
		return because(program, PROGRAM_UNFIT,
			       "%s runs with raised privileges (setuid, setgid "
			       "or file capabilities): nothing is preloaded",
			       path);
	if (got >= SELFMAG && memcmp(line, ELFMAG, SELFMAG) == 0)
		return examine_elf(program, path, fd);
	/* Neither: execvp() gives it to /bin/sh, which will do. */
	return PROGRAM_FITS;
}

static enum program_kind
examine(struct program *program, const char *path, int depth)
{
	enum program_kind kind;
	int fd;

	if (access(path, F_OK) != 0)
		return because(program, PROGRAM_NOT_FOUND, "%s: %s", path,
			       strerror(errno));
	if (access(path, X_OK) != 0)
		return because(program, PROGRAM_NOT_EXECUTABLE, "%s: %s", path,
			       strerror(errno));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	/* Executable, but not ours to read: let the kernel decide. */
	if (fd < 0)
		return PROGRAM_FITS;
	kind = examine_open(program, path, fd, depth);
	close(fd);
	return kind;
}

/* The first executable of that name in $PATH into program->path. */
static bool
search_path(struct program *program, const char *name)
{
	const char *path = getenv("PATH");
	struct stat status;

	/* execvp()'s default when there is none: confstr(_CS_PATH). */
	for (path = path ? path : "/bin:/usr/bin"; path;) {
		const char *colon = strchrnul(path, ':');
		int length = (int)(colon - path);

		snprintf(program->path, sizeof(program->path), "%.*s%s%s",
			 length, path, length ? "/" : "", name);
		if (stat(program->path, &status) == 0 &&
		    S_ISREG(status.st_mode) && access(program->path, X_OK) == 0)
			return true;
		path = *colon ? colon + 1 : NULL;
	}
	return false;
}

static enum program_kind
find(struct program *program, const char *name, int depth)
{
	program->reason[0] = '\0';
	program->image[0] = '\0';
	program->loader[0] = '\0';
	if (strchr(name, '/'))
		snprintf(program->path, sizeof(program->path), "%s", name);
	else if (!search_path(program, name))
		return because(program, PROGRAM_NOT_FOUND,
			       "%s: command not found", name);
	return examine(program, program->path, depth);
}

enum program_kind
program_find(struct program *program, const char *name)
{
	return find(program, name, 0);
}
