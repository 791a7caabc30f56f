/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_file.h - bytes of a file, compressed or not; whole files or none.
 */
#ifndef HEAPAGENT_PROFILE_FILE_H
#define HEAPAGENT_PROFILE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "reason.h"

/*
 * The content, uncompressed, in memory that the caller frees. More than
 * PROFILE_FILE_MAX_BYTES is refused: a gzip bomb ends here. "-": stdin.
 */
#define PROFILE_FILE_MAX_BYTES (UINT64_C(512) << 20)
int profile_file_read(const char *path, uint8_t **data, size_t *data_bytes,
		      struct reason *reason);

/*
 * Writes the data gzip-compressed to a target: see target.h. On failure
 * nothing is left behind.
 */
int profile_file_write(const char *path, const uint8_t *data, size_t data_bytes,
		       struct reason *reason);

/* The same without compression: for pages. */
int profile_file_write_plain(const char *path, const void *data,
			     size_t data_bytes, struct reason *reason);

#endif
