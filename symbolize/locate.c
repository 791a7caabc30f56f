/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locate.c - the ELF files that belong to a mapping, wherever they are now.
 */
#include "locate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <zlib.h>

#include "debuginfod.h"
#include "memory.h"
#include "not_found.h"

#define SYSTEM_DEBUG_DIR "/usr/lib/debug"

/* Opens under the sysroot, if there is one; a negative errno. */
static int
try_in_system(const struct locate_options *options, const char *path,
	      struct elf_file **file)
{
	struct reason reason;
	if (options->sysroot)
		return elf_file_open_under(options->sysroot, path, file,
					   &reason);
	return elf_file_open(path, file, &reason);
}

/* NULL: no such ELF file. */
static struct elf_file *
open_in_system(const struct locate_options *options, const char *path)
{
	struct elf_file *file = NULL;
	try_in_system(options, path, &file);
	return file;
}

/* The file, if its build-id is the one wanted; else it is closed. */
static struct elf_file *
only_if(struct elf_file *file, const struct build_id *wanted)
{
	if (!file || !wanted->count || build_id_equal(&file->build_id, wanted))
		return file;
	elf_file_close(file);
	return NULL;
}

/* The directory number i: those asked for, then the system's. */
static struct elf_file *
open_in_debug_dir(const struct locate_options *options, size_t i,
		  const char *below)
{
	struct elf_file *file = NULL;
	struct reason reason;
	if (i < options->debug_dir_count) {
		char *path =
			memory_format("%s/%s", options->debug_dirs[i], below);
		elf_file_open(path, &file, &reason);
		free(path);
	} else {
		char *path = memory_format("%s/%s", SYSTEM_DEBUG_DIR, below);
		file = open_in_system(options, path);
		free(path);
	}
	return file;
}

static struct elf_file *
find_by_build_id(const struct locate_options *options,
		 const struct build_id *id, const char *suffix)
{
	if (id->count < 2)
		return NULL;
	char hex[2 * BUILD_ID_MAX_BYTES + 1];
	build_id_format(id, hex);
	char *below =
		memory_format(".build-id/%.2s/%s%s", hex, hex + 2, suffix);
	struct elf_file *file = NULL;
	for (size_t i = 0; !file && i <= options->debug_dir_count; i++)
		file = only_if(open_in_debug_dir(options, i, below), id);
	free(below);
	return file;
}

static bool
has_crc(struct elf_file *file, uint32_t wanted)
{
	size_t bytes;
	const char *image = elf_rawfile(file->elf, &bytes);
	return image &&
	       crc32_z(0, (const unsigned char *)image, bytes) == wanted;
}

/*
 * .gnu_debuglink: by name in three places; the content's CRC decides. The
 * program's own name under a debug directory is its path in the system, not
 * under the sysroot.
 */
static struct elf_file *
find_by_link(const struct locate_options *options, struct elf_file *program,
	     const char *system_path)
{
	const char *name;
	uint32_t crc;
	if (!elf_file_debuglink(program, &name, &crc))
		return NULL;
	const char *slash = strrchr(system_path, '/');
	int directory = slash ? (int)(slash - system_path) : 0;
	char *beside[] = {
		memory_format("%.*s/%s", directory, system_path, name),
		memory_format("%.*s/.debug/%s", directory, system_path, name),
	};
	char *below = beside[0] + 1;
	struct elf_file *file = NULL;
	for (size_t i = 0; !file && i < 3 + options->debug_dir_count; i++) {
		file = i < 2 ? open_in_system(options, beside[i])
			     : open_in_debug_dir(options, i - 2, below);
		if (file && !has_crc(file, crc)) {
			elf_file_close(file);
			file = NULL;
		}
	}
	free(beside[0]);
	free(beside[1]);
	return only_if(file, &program->build_id);
}

static struct elf_file *
ask_server(const struct locate_options *options, const struct build_id *id,
	   enum debuginfod_kind kind, struct located *located)
{
	if (!options->debuginfod || !id->count)
		return NULL;
	int status;
	char *path = debuginfod_get(id, kind, &status);
	if (path)
		status = -EBADMSG;
	struct elf_file *file = NULL;
	struct reason reason;
	if (path)
		elf_file_open(path, &file, &reason);
	free(path);
	file = only_if(file, id);
	/* Of two answers the first says more: the second is asked for less. */
	if (!file && !located->not_found)
		located->not_found = status;
	return file;
}

/* This process's own vDSO: right for a profile of the kernel that runs. */
static struct elf_file *
own_vdso(const struct build_id *id)
{
	const unsigned char *image =
		(const unsigned char *)getauxval(AT_SYSINFO_EHDR);
	if (!image || !id->count)
		return NULL;
	/* Linux maps the vDSO in whole pages, at least one; its section
	 * headers are at the end and within what the ELF header says. */
	const Elf64_Ehdr *header = (const void *)image;
	size_t bytes =
		header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	void *copy = memory_get(bytes);
	memcpy(copy, image, bytes);
	struct elf_file *file = NULL;
	struct reason reason;
	elf_file_open_memory("[vdso]", copy, bytes, &file, &reason);
	return only_if(file, id);
}

/* The file that the mapping names, if it is the one that was mapped. */
static struct elf_file *
open_named(const struct locate_options *options, const char *name,
	   const struct build_id *id, struct located *located)
{
	static const char deleted[] = " (deleted)";
	size_t bytes = strlen(name), tail = sizeof(deleted) - 1;
	struct elf_file *file = NULL;
	char *path = memory_string(name);
	/* The kernel's words for a file that was replaced; what is there now
	 * has the same build-id or is refused. */
	if (bytes > tail && !strcmp(name + bytes - tail, deleted))
		path[bytes - tail] = '\0';
	int status = try_in_system(options, path, &file);
	/* What had no build-id need not have been ELF. */
	if (status == -EBADMSG)
		located->damage = "it is cut short or damaged";
	else if (status == -ENOEXEC && id->count)
		located->damage = "it is not an ELF file";
	struct elf_file *wanted = only_if(file, id);
	if (located->damage || (file && !wanted))
		located->refused =
			options->sysroot
				? memory_format("%s/%s", options->sysroot,
						path + strspn(path, "/"))
				: memory_string(path);
	free(path);
	return wanted;
}

static struct elf_file *
find_program(const struct locate_options *options, const char *name,
	     const struct build_id *id, struct located *located)
{
	struct elf_file *file = NULL;
	if (!strcmp(name, "[vdso]") || !strcmp(name, "linux-vdso.so.1"))
		return own_vdso(id);
	if (*name == '/')
		file = open_named(options, name, id, located);
	if (!file)
		file = find_by_build_id(options, id, "");
	return file;
}

void
locate(const struct locate_options *options, const char *name,
       const char *build_id, struct located *located)
{
	*located = (struct located){ .program = NULL };
	struct build_id id = build_id_parse(build_id);
	located->program = find_program(options, name, &id, located);
	if (located->program && !id.count)
		id = located->program->build_id;
	if (located->program && elf_file_has_dwarf(located->program)) {
		located->debug = located->program;
		return;
	}
	located->debug = find_by_build_id(options, &id, ".debug");
	if (!located->debug && located->program)
		located->debug = find_by_link(options, located->program, name);
	if (!located->debug)
		located->debug =
			ask_server(options, &id, DEBUGINFOD_DEBUG, located);
	if (!located->program && !located->debug)
		located->program =
			ask_server(options, &id, DEBUGINFOD_PROGRAM, located);
	if (located->program)
		located->mini = elf_file_mini(located->program);
	/* Of what was refused, the reason is said. */
	else if (!located->debug && !located->not_found && options->sysroot &&
		 *name == '/' && !located->refused)
		located->not_found = NOT_IN_SYSROOT;
}

/* The same path under the debug directories that were asked for. */
static struct elf_file *
find_in_debug_dirs(const struct locate_options *options, const char *path,
		   const struct build_id *id)
{
	size_t prefix = strlen(SYSTEM_DEBUG_DIR "/");
	struct elf_file *file = NULL;
	if (strncmp(path, SYSTEM_DEBUG_DIR "/", prefix) != 0)
		return NULL;
	for (size_t i = 0; !file && i < options->debug_dir_count; i++)
		file = only_if(open_in_debug_dir(options, i, path + prefix),
			       id);
	return file;
}

struct elf_file *
locate_supplement(const struct locate_options *options, const char *debug_path,
		  const char *name, const struct build_id *id)
{
	struct elf_file *file = find_in_debug_dirs(options, name, id);
	struct reason reason;
	if (file)
		return file;
	if (*name == '/') {
		file = open_in_system(options, name);
	} else {
		const char *slash = strrchr(debug_path, '/');
		int directory = slash ? (int)(slash - debug_path) : 0;
		char *path =
			memory_format("%.*s/%s", directory, debug_path, name);
		elf_file_open(path, &file, &reason);
		free(path);
	}
	file = only_if(file, id);
	return file ? file : find_by_build_id(options, id, ".debug");
}

void
located_close(struct located *located)
{
	if (located->debug != located->program)
		elf_file_close(located->debug);
	elf_file_close(located->program);
	elf_file_close(located->mini);
	free(located->refused);
}
