/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - the HEAPAGENT_* settings, read once from the environment.
 *
 * Immutable after config_read(). A value that does not parse is named in one
 * line on standard error and the default stands.
 */
#ifndef HEAPAGENT_CONFIG_H
#define HEAPAGENT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler.h"

/* Bits of config.profiles. */
enum {
	PROFILE_THREADS = 1 << 0,
	PROFILE_ALLOCS = 1 << 1,
	PROFILE_HEAP = 1 << 2,
	PROFILE_ALL = PROFILE_THREADS | PROFILE_ALLOCS | PROFILE_HEAP,
};

enum config_unwinder {
	UNWINDER_AUTO,
	UNWINDER_CFI,
	UNWINDER_FP,
	UNWINDER_LIBUNWIND,
};

enum config_format { FORMAT_PROTO, FORMAT_TEXT };

enum config_log { LOG_QUIET, LOG_WARN, LOG_INFO };

#define CONFIG_PATH_MAX 4096
#define CONFIG_RATE_DEFAULT (UINT64_C(512) << 10)
/* 2^40: a weight in fixed point must fit 64 bits (stacks.h). */
#define CONFIG_RATE_MAX (UINT64_C(1) << 40)
#define CONFIG_DEPTH_DEFAULT 128
#define CONFIG_MEMORY_DEFAULT ((size_t)64 << 20)

struct config {
	uint64_t rate_bytes;   /* 0: no heap sampling; 1: every allocation */
	size_t memory_bytes;   /* the region's size */
	unsigned depth_frames; /* 1 to UNWIND_FRAMES_MAX */
	int signal; /* 0: none, or the program had it before us (trigger.h) */
	unsigned profiles; /* PROFILE_* bits */
	bool at_exit;
	bool resume;   /* interrupted calls go on, see resume.h */
	bool children; /* forked and exec'd children are profiled too */
	enum config_unwinder unwinder;
	enum config_format format;
	enum config_log log;
	char directory[CONFIG_PATH_MAX]; /* absolute, no trailing slash */
};

extern HIDDEN struct config config;

/* The signals whose handler is ours, as a set: number n is bit n - 1. [any] */
static inline uint64_t
config_own_signals(void)
{
	return config.signal != 0 ? UINT64_C(1) << (config.signal - 1) : 0;
}

/*
 * Reads envp (NULL-terminated, "NAME=value"). [init]
 */
void config_read(char *const *envp);

/*
 * Sets the one that is called HEAPAGENT_ and the name. NULL, or the values that
 * are accepted if this one is not. (The command asks so before it starts a
 * program.) [init]
 */
const char *config_set(const char *name, const char *value);

#endif
