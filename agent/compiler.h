/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler.h - the compiler's extensions under short names. No data, no code.
 */
#ifndef HEAPAGENT_COMPILER_H
#define HEAPAGENT_COMPILER_H

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* One of the library's exported symbols; all else is hidden. */
#define EXPORT __attribute__((visibility("default")))
/*
 * For declarations of variables that hot code reads: without it the compiler
 * goes through the GOT, one load more.
 */
#define HIDDEN __attribute__((visibility("hidden")))
/* Written while the process starts, read by every call. */
#define READ_MOSTLY __attribute__((section(".data.read_mostly")))
#define NOINLINE __attribute__((noinline))
#define COLD __attribute__((cold, noinline))
#define UNUSED __attribute__((unused))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

#define CACHE_LINE 64
#define CACHE_ALIGNED __attribute__((aligned(CACHE_LINE)))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Round x up to a multiple of a, a power of two. */
#define ALIGN_UP(x, a) (((x) + ((a)-1)) & ~((__typeof__(x))(a)-1))

#endif
