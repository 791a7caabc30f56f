/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_file.c - one ELF file: its build-id, its layout, its parts.
 */
#include "elf_file.h"

#include <elfutils/libdwelf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/openat2.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memory.h"

#define PAGE_BYTES UINT64_C(4096)

/* MiniDebugInfo is small (Fedora: under 5 % of the file); a bomb is not. */
#define MINI_MAX_BYTES (UINT64_C(256) << 20)

static void
read_build_id(struct elf_file *file)
{
	const void *bytes;
	ssize_t count = dwelf_elf_gnu_build_id(file->elf, &bytes);
	if (count <= 0 || count > BUILD_ID_MAX_BYTES)
		return;
	memcpy(file->build_id.bytes, bytes, (size_t)count);
	file->build_id.count = (size_t)count;
}

/* A table of count entries at that offset does not end within the file. */
static bool
is_outside(uint64_t offset, uint64_t count, uint64_t entry_bytes,
	   uint64_t file_bytes)
{
	return count && (offset > file_bytes || !entry_bytes ||
			 (file_bytes - offset) / entry_bytes < count);
}

/*
 * Where the loader or the linker looks first. What else is wrong shows where
 * it is read.
 */
static bool
is_damaged(Elf *elf, const GElf_Ehdr *header)
{
	size_t bytes, segments, sections;
	if (!elf_rawfile(elf, &bytes) || elf_getphdrnum(elf, &segments) ||
	    elf_getshdrnum(elf, &sections))
		return true;
	return is_outside(header->e_phoff, header->e_phnum, header->e_phentsize,
			  bytes) ||
	       is_outside(header->e_shoff, header->e_shnum, header->e_shentsize,
			  bytes);
}

/* Takes over fd and memory, whatever happens. */
static int
open_elf(const char *path, int fd, void *memory, size_t bytes,
	 struct elf_file **file, struct reason *reason)
{
	elf_version(EV_CURRENT);
	struct elf_file *made = memory_get(sizeof(*made));
	made->path = memory_string(path);
	made->fd = fd;
	made->memory = memory;
	made->elf = memory ? elf_memory(memory, bytes)
			   : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	GElf_Ehdr header;
	if (!made->elf || elf_kind(made->elf) != ELF_K_ELF ||
	    !gelf_getehdr(made->elf, &header)) {
		elf_file_close(made);
		return reason_set(reason, -ENOEXEC, "not an ELF file");
	}
	if (is_damaged(made->elf, &header)) {
		elf_file_close(made);
		return reason_set(reason, -EBADMSG, "cut short or damaged");
	}
	read_build_id(made);
	*file = made;
	return 0;
}

static int
open_descriptor(const char *path, int fd, struct elf_file **file,
		struct reason *reason)
{
	if (fd < 0)
		return reason_set(reason, -errno, "%s", strerror(errno));
	struct stat status;
	/* A named pipe or a device at this name would never end. */
	if (fstat(fd, &status) || !S_ISREG(status.st_mode)) {
		close(fd);
		return reason_set(reason, -EINVAL, "not a regular file");
	}
	return open_elf(path, fd, NULL, 0, file, reason);
}

int
elf_file_open(const char *path, struct elf_file **file, struct reason *reason)
{
	/* O_NONBLOCK: to open a named pipe must not wait for its writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return open_descriptor(path, fd, file, reason);
}

int
elf_file_open_under(const char *root, const char *path, struct elf_file **file,
		    struct reason *reason)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
				.resolve = RESOLVE_IN_ROOT };
	int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return reason_set(reason, -errno, "%s: %s", root,
				  strerror(errno));
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	int error = errno;
	close(root_fd);
	char *full = memory_format("%s/%s", root, path + strspn(path, "/"));
	/* Linux before 5.6, or a sandbox that does not know openat2. */
	if (fd < 0 && (error == ENOSYS || error == EPERM)) {
		fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		error = errno;
	}
	errno = error;
	int status = open_descriptor(full, fd, file, reason);
	free(full);
	return status;
}

int
elf_file_open_memory(const char *name, void *memory, size_t bytes,
		     struct elf_file **file, struct reason *reason)
{
	return open_elf(name, -1, memory, bytes, file, reason);
}

void
elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->memory);
	free(file->path);
	free(file);
}

static Elf_Scn *
find_section(struct elf_file *file, const char *name, GElf_Shdr *header)
{
	size_t names;
	if (elf_getshdrstrndx(file->elf, &names))
		return NULL;
	Elf_Scn *section = NULL;
	while ((section = elf_nextscn(file->elf, section))) {
		if (!gelf_getshdr(section, header))
			continue;
		const char *its = elf_strptr(file->elf, names, header->sh_name);
		if (its && !strcmp(its, name) && header->sh_type != SHT_NOBITS)
			return section;
	}
	return NULL;
}

bool
elf_file_has_dwarf(struct elf_file *file)
{
	GElf_Shdr header;
	return (find_section(file, ".debug_info", &header) ||
		find_section(file, ".zdebug_info", &header)) &&
	       header.sh_size;
}

bool
elf_file_is_packed(struct elf_file *file)
{
	GElf_Shdr header;
	return find_section(file, ".zdebug_info", &header) ||
	       (find_section(file, ".debug_info", &header) &&
		header.sh_flags & SHF_COMPRESSED);
}

Elf_Data *
elf_file_section(struct elf_file *file, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *section = find_section(file, name, &header);
	if (!section)
		return NULL;
	if (header.sh_flags & SHF_COMPRESSED)
		elf_compress(section, 0, 0);
	return elf_getdata(section, NULL);
}

static bool
segment_at(struct elf_file *file, size_t index, GElf_Phdr *segment)
{
	return gelf_getphdr(file->elf, (int)index, segment) &&
	       segment->p_type == PT_LOAD;
}

static size_t
segment_count(struct elf_file *file)
{
	size_t count;
	return elf_getphdrnum(file->elf, &count) ? 0 : count;
}

bool
elf_file_address(struct elf_file *file, uint64_t file_offset, uint64_t *address)
{
	bool found = false;
	GElf_Phdr segment;
	for (size_t i = 0; i < segment_count(file); i++) {
		if (!segment_at(file, i, &segment))
			continue;
		bool executable = segment.p_flags & PF_X;
		if (found && !executable)
			continue;
		/* The loader maps whole pages around what the segment says. */
		uint64_t start = segment.p_offset & ~(PAGE_BYTES - 1);
		uint64_t end =
			(segment.p_offset + segment.p_filesz + PAGE_BYTES - 1) &
			~(PAGE_BYTES - 1);
		if (file_offset < start || file_offset >= end)
			continue;
		*address = file_offset - segment.p_offset + segment.p_vaddr;
		found = true;
		if (executable)
			return true;
	}
	return found;
}

bool
elf_file_base(struct elf_file *file, uint64_t *address)
{
	GElf_Phdr segment;
	for (size_t i = 0; i < segment_count(file); i++) {
		if (!segment_at(file, i, &segment))
			continue;
		*address = segment.p_vaddr & ~(PAGE_BYTES - 1);
		return true;
	}
	return false;
}

bool
elf_file_text(struct elf_file *file, uint64_t *address)
{
	int found = 0;
	GElf_Phdr segment;
	for (size_t i = 0; i < segment_count(file); i++) {
		if (!segment_at(file, i, &segment) || !(segment.p_flags & PF_X))
			continue;
		*address = segment.p_vaddr & ~(PAGE_BYTES - 1);
		found++;
	}
	return found == 1;
}

bool
elf_file_debuglink(struct elf_file *file, const char **name, uint32_t *crc)
{
	GElf_Word value;
	*name = dwelf_elf_gnu_debuglink(file->elf, &value);
	if (!*name || !**name || strchr(*name, '/'))
		return false;
	*crc = value;
	return true;
}

struct elf_file *
elf_file_mini(struct elf_file *file)
{
	Elf_Data *packed = elf_file_section(file, ".gnu_debugdata");
	if (!packed || !packed->d_buf)
		return NULL;
	uint64_t memory_limit = MINI_MAX_BYTES;
	size_t in = 0, out = 0, capacity = 16 * packed->d_size + PAGE_BYTES;
	uint8_t *image = NULL;
	lzma_ret status = LZMA_BUF_ERROR;
	/* The unpacked size stands at the end of the format: try, and double.
	 */
	while (status == LZMA_BUF_ERROR && capacity <= MINI_MAX_BYTES) {
		image = memory_resize(image, capacity, 1);
		in = out = 0;
		status = lzma_stream_buffer_decode(&memory_limit, 0, NULL,
						   packed->d_buf, &in,
						   packed->d_size, image, &out,
						   capacity);
		capacity *= 2;
	}
	struct elf_file *mini = NULL;
	struct reason reason;
	if (status != LZMA_OK)
		free(image);
	else
		elf_file_open_memory(file->path, image, out, &mini, &reason);
	return mini;
}

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

struct build_id
build_id_parse(const char *hex)
{
	struct build_id id = { .count = 0 };
	size_t digits = strlen(hex);
	if (digits % 2 || digits > 2 * BUILD_ID_MAX_BYTES)
		return id;
	for (size_t i = 0; i < digits; i += 2) {
		int high = hex_digit(hex[i]), low = hex_digit(hex[i + 1]);
		if (high < 0 || low < 0)
			return (struct build_id){ .count = 0 };
		id.bytes[i / 2] = (unsigned char)(high << 4 | low);
	}
	id.count = digits / 2;
	return id;
}

bool
build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return a->count == b->count && !memcmp(a->bytes, b->bytes, a->count);
}

void
build_id_format(const struct build_id *id,
		char text[2 * BUILD_ID_MAX_BYTES + 1])
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < id->count; i++) {
		text[2 * i] = digits[id->bytes[i] >> 4];
		text[2 * i + 1] = digits[id->bytes[i] & 15];
	}
	text[2 * id->count] = '\0';
}
