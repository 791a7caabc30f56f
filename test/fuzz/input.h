/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.h - the bytes of a fuzzer as a file, for code that opens files.
 *
 * A fuzzer runs in one thread and has one directory of its own, in memory.
 */
#ifndef HEAPAGENT_FUZZ_INPUT_H
#define HEAPAGENT_FUZZ_INPUT_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static char input_directory[32];

static void
input_remove(void)
{
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", input_directory);
	if (system(command))
		perror(command);
}

/* Writes a file of that name; its path is good until the next call. */
static const char *
input_write(const char *name, const void *data, size_t bytes)
{
	static char path[64];
	if (!*input_directory) {
		snprintf(input_directory, sizeof(input_directory),
			 "/dev/shm/heapagent.XXXXXX");
		if (!mkdtemp(input_directory))
			abort();
		atexit(input_remove);
	}
	snprintf(path, sizeof(path), "%s/%s", input_directory, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		abort();
	close(fd);
	return path;
}

#endif
