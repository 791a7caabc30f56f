/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle_fuzz.c - any bytes as a function's name: there is a clear one, of
 * bounded length, and a short one.
 */
/* SYMBOLIZE: demangle memory short_name utf8 */
#include "demangle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "short_name.h"
#include "utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *name = memory_get(bytes + 1);
	memcpy(name, data, bytes);
	char *clear = demangle(name);
	if (strlen(clear) > DEMANGLED_MAX_BYTES && strcmp(clear, name) != 0)
		abort();
	char *shorter = short_name(clear);
	if (strlen(shorter) > strlen(clear))
		abort();
	utf8_make_printable(shorter);
	if (strpbrk(shorter, "\033\n\177"))
		abort();
	free(shorter);
	free(clear);
	free(name);
	return 0;
}
