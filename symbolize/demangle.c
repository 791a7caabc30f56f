/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.c - a function's name as its source has it.
 *
 * libiberty knows all three forms and bounds its recursion. Older Rust names
 * are also valid C++ ones ("_ZN…17h<16 hex digits>E"): DMGL_AUTO tries Rust
 * first, and drops the hash unless told to be verbose.
 */
#include "demangle.h"

#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "memory.h"

/* No compiler writes more; a hostile one can grow exponentially. */
#define MANGLED_MAX_BYTES 16384

char *
demangle(const char *name)
{
	size_t bytes = strlen(name);
	if (name[0] != '_' || bytes > MANGLED_MAX_BYTES)
		return memory_string(name);
	char *clear = cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
	if (!clear)
		return memory_string(name);
	return clear;
}
