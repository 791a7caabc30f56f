/* SPDX-License-Identifier: Apache-2.0 */
/* audit.c - an auditor for LD_AUDIT that allocates in each of its calls. */
#include <link.h>
#include <stdlib.h>

static void *volatile kept;

unsigned
la_version(unsigned version)
{
	kept = malloc(100);
	return version;
}

unsigned
la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie)
{
	(void)map;
	(void)id;
	(void)cookie;
	kept = realloc(kept, 200);
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
