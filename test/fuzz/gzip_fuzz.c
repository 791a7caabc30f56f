/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip_fuzz.c - any bytes as a compressed file: refused, or read and written
 * and read again as the same.
 */
/* SYMBOLIZE: memory profile_file reason target utf8 */
#include "profile_file.h"

#include <string.h>

#include "input.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct reason reason;
	uint8_t *first, *second;
	size_t first_bytes, second_bytes;
	const char *path = input_write("file", data, bytes);
	if (profile_file_read(path, &first, &first_bytes, &reason))
		return 0;
	if (profile_file_write(path, first, first_bytes, &reason) ||
	    profile_file_read(path, &second, &second_bytes, &reason) ||
	    first_bytes != second_bytes || memcmp(first, second, first_bytes))
		abort();
	free(first);
	free(second);
	return 0;
}
