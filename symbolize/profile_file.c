/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_file.c - bytes of a file, compressed or not; whole files or none.
 */
#include "profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>

#include "memory.h"
#include "target.h"

#define CHUNK_BYTES (UINT64_C(1) << 18)

/* Who makes a named pipe starts both ends at about the same time. */
#define PIPE_WAIT_MS 10000

/* A named pipe, and not the shell's <(...), at whose end is somebody. */
static bool
is_named_pipe(int fd, const struct stat *status)
{
	struct statfs system;
	return S_ISFIFO(status->st_mode) && !fstatfs(fd, &system) &&
	       system.f_type != PIPEFS_MAGIC;
}

/* 0, or what is wrong with the file that was opened without waiting. */
static int
check_input(int fd, struct reason *reason)
{
	struct stat status;
	if (fstat(fd, &status))
		return reason_set(reason, -errno, "%s", strerror(errno));
	if (S_ISDIR(status.st_mode))
		return reason_set(reason, -EISDIR, "%s", strerror(EISDIR));
	struct pollfd input = { .fd = fd, .events = POLLIN };
	if (is_named_pipe(fd, &status) && !poll(&input, 1, PIPE_WAIT_MS))
		return reason_set(reason, -ETIMEDOUT,
				  "a pipe that nobody writes to");
	/* From now on it may take its time. */
	fcntl(fd, F_SETFL, 0);
	return 0;
}

static int
open_input(const char *path, struct reason *reason)
{
	if (!strcmp(path, "-")) {
		int input = dup(STDIN_FILENO);
		return input >= 0 ? input
				  : reason_set(reason, -errno, "%s",
					       strerror(errno));
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return reason_set(reason, -errno, "%s", strerror(errno));
	int status = check_input(fd, reason);
	if (status)
		close(fd);
	return status ? status : fd;
}

/* What gzread could not read, told apart from a short but whole file. */
static int
check_end(gzFile file, struct reason *reason)
{
	int code;
	const char *text = gzerror(file, &code);
	if (code == Z_ERRNO)
		return reason_set(reason, -errno, "%s", strerror(errno));
	if (code == Z_BUF_ERROR)
		return reason_set(reason, -EINVAL, "gzip data is cut short");
	if (code < 0)
		return reason_set(reason, -EINVAL, "bad gzip data (%s)", text);
	return 0;
}

static int
read_all(gzFile file, uint8_t **data, size_t *data_bytes, struct reason *reason)
{
	uint8_t *buffer = NULL;
	size_t used = 0, capacity = 0;
	int status = 0;
	for (;;) {
		if (capacity - used < CHUNK_BYTES) {
			capacity = 2 * capacity + CHUNK_BYTES;
			buffer = memory_resize(buffer, capacity, 1);
		}
		/* cppcheck-suppress nullPointerArithmetic ; 0 < CHUNK_BYTES */
		int got = gzread(file, buffer + used, CHUNK_BYTES);
		if (got <= 0)
			break;
		used += (size_t)got;
		if (used > PROFILE_FILE_MAX_BYTES) {
			status = reason_set(
				reason, -EFBIG,
				"more than %llu MiB when "
				"uncompressed",
				(unsigned long long)PROFILE_FILE_MAX_BYTES >>
					20);
			break;
		}
	}
	if (!status)
		status = check_end(file, reason);
	if (status) {
		free(buffer);
		return status;
	}
	*data = buffer;
	*data_bytes = used;
	return 0;
}

int
profile_file_read(const char *path, uint8_t **data, size_t *data_bytes,
		  struct reason *reason)
{
	int fd = open_input(path, reason);
	if (fd < 0)
		return fd;
	gzFile file = gzdopen(fd, "rb");
	if (!file) {
		close(fd);
		return reason_set(reason, -ENOMEM, "out of memory");
	}
	int status = read_all(file, data, data_bytes, reason);
	gzclose(file);
	return status;
}

static int
write_all(int fd, const uint8_t *data, size_t data_bytes, bool compressed)
{
	if (!compressed) {
		while (data_bytes) {
			ssize_t put = write(fd, data, data_bytes);
			if (put < 0 && errno == EINTR)
				continue;
			if (put < 0)
				return -errno;
			data += put;
			data_bytes -= (size_t)put;
		}
		return 0;
	}
	int own = dup(fd);
	gzFile file = own < 0 ? NULL : gzdopen(own, "wb");
	if (!file)
		return -errno;
	size_t done = 0;
	errno = 0;
	while (done < data_bytes) {
		size_t rest = data_bytes - done;
		unsigned chunk = rest < CHUNK_BYTES ? (unsigned)rest
						    : (unsigned)CHUNK_BYTES;
		if (gzwrite(file, data + done, chunk) <= 0)
			break;
		done += chunk;
	}
	bool closed = gzclose(file) == Z_OK;
	return done == data_bytes && closed ? 0 : errno ? -errno : -EIO;
}

static int
write_file(const char *path, const uint8_t *data, size_t data_bytes,
	   bool compressed, struct reason *reason)
{
	struct target target;
	int status = target_open(&target, path);
	if (status == -ENXIO)
		return reason_set(reason, status,
				  "nobody reads from this pipe");
	if (!status)
		status = target_close(&target,
				      write_all(target.fd, data, data_bytes,
						compressed));
	if (status)
		reason_set(reason, status, "%s", strerror(-status));
	return status;
}

int
profile_file_write(const char *path, const uint8_t *data, size_t data_bytes,
		   struct reason *reason)
{
	return write_file(path, data, data_bytes, true, reason);
}

int
profile_file_write_plain(const char *path, const void *data, size_t data_bytes,
			 struct reason *reason)
{
	return write_file(path, data, data_bytes, false, reason);
}
