/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator.c - dynamic symbols by libelf; which files are loaded, and in which
 * order, says the program's own loader: LD_PRELOAD, RUNPATH and its cache are
 * its business. It runs nothing of the program for that (ld.so(8), --list).
 */
#include "allocator.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPERATOR_NEW "_Znwm"

static bool
has_function(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
	     const char *wanted)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name;

		if (symbol.st_shndx == SHN_UNDEF ||
		    (GELF_ST_TYPE(symbol.st_info) != STT_FUNC &&
		     GELF_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC))
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (name && strcmp(name, wanted) == 0)
			return true;
	}
	return false;
}

static bool
defines(const char *path, const char *wanted)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf_Scn *section = NULL;
	bool found = false;
	GElf_Shdr header;
	Elf *elf;

	(void)elf_version(EV_CURRENT);
	elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	while (elf && !found && (section = elf_nextscn(elf, section)))
		found = gelf_getshdr(section, &header) &&
			header.sh_type == SHT_DYNSYM &&
			has_function(elf, section, &header, wanted);
	(void)elf_end(elf);
	if (fd >= 0)
		close(fd);
	return found;
}

bool
allocator_is_programs(const struct program *program)
{
	return defines(program->image, "malloc");
}

/* Starts the loader's list of what it would load; NULL if that cannot be. */
static FILE *
open_list(const struct program *program, pid_t *pid)
{
	int ends[2], silence;
	FILE *list;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return NULL;
	*pid = fork();
	if (*pid == 0) {
		silence = open("/dev/null", O_RDWR | O_CLOEXEC);
		dup2(silence, STDIN_FILENO);
		dup2(ends[1], STDOUT_FILENO);
		dup2(silence, STDERR_FILENO);
		execl(program->loader, program->loader, "--list",
		      program->image, NULL);
		_exit(127);
	}
	close(ends[1]);
	list = *pid < 0 ? NULL : fdopen(ends[0], "r");
	if (!list)
		close(ends[0]);
	return list;
}

/* The path in "	NAME => PATH (0xADDRESS)" or "	PATH (0x...)"; else
 * NULL. */
static char *
path_in(char *line)
{
	char *arrow = strstr(line, " => ");
	char *path = arrow ? arrow + 4 : line + strspn(line, "\t ");
	char *end = strstr(path, " (0x");

	if (*path != '/' || !end)
		return NULL;
	*end = '\0';
	return path;
}

/* Of a program that is started by the agent's command under the agent. */
static bool
is_agent(const char *path)
{
	return strstr(path, "/libheapagent") != NULL;
}

bool
allocator_has_new(const struct program *program)
{
	bool has_malloc = false, has_new = false;
	char *line = NULL, *path;
	size_t room = 0;
	pid_t pid;
	FILE *list;

	/* The program's own symbols are found before those of any library. */
	if (!*program->loader || defines(program->image, OPERATOR_NEW) ||
	    !(list = open_list(program, &pid)))
		return false;
	while (getline(&line, &room, list) > 0) {
		path = path_in(line);
		if (!path || is_agent(path) || has_malloc || has_new)
			continue;
		has_malloc = defines(path, "malloc");
		has_new = defines(path, OPERATOR_NEW);
	}
	free(line);
	fclose(list);
	(void)waitpid(pid, NULL, 0);
	return has_malloc && has_new;
}
