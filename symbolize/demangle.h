/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.h - a function's name as its source has it.
 */
#ifndef HEAPAGENT_DEMANGLE_H
#define HEAPAGENT_DEMANGLE_H

/* A longer name is not made: the raw one stands for it. */
#define DEMANGLED_MAX_BYTES 262144

/*
 * C++ (Itanium), Rust v0 and Rust's older form without its hash; a name that
 * is none of them comes back as it is. To be freed.
 */
char *demangle(const char *name);

#endif
