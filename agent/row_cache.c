/* SPDX-License-Identifier: Apache-2.0 */
/* row_cache.c - makes the table of row_cache.h. */
#include "row_cache.h"

#include <errno.h>
#include <stddef.h>

#include "compiler.h"
#include "region.h"

struct row_cache_entry *row_cache;

int
row_cache_init(void)
{
	row_cache = region_table("rows", sizeof(*row_cache),
				 (size_t)1 << ROW_CACHE_BITS, CACHE_LINE);
	return row_cache != NULL ? 0 : -ENOMEM;
}
