/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_path.h - where a source file was when it was compiled.
 */
#ifndef HEAPAGENT_SOURCE_PATH_H
#define HEAPAGENT_SOURCE_PATH_H

struct source_paths;

struct source_paths *source_paths_new(void);
void source_paths_free(struct source_paths *paths);

/*
 * DIRECTORY/NAME, or the name alone if it is absolute or the directory NULL.
 * NULL stays NULL. The text lives as long as the paths, whatever becomes of
 * the arguments.
 */
const char *source_path(struct source_paths *paths, const char *directory,
			const char *name);

#endif
