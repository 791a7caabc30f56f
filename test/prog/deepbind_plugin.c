/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deepbind_plugin.c - a shared object for hidden_free.c. Loaded with
 * RTLD_DEEPBIND or into a namespace of its own, its calls go to libc past
 * every preloaded object. CFLAGS: -shared -fPIC
 */
#include <stdlib.h>
#include <string.h>

void plugin_free(void *p);
void *plugin_alloc(size_t size);
int plugin_churn(unsigned rounds);

void
plugin_free(void *p)
{
	free(p);
}

void *
plugin_alloc(size_t size)
{
	return malloc(size);
}

/* Zero if memory behaved. */
int
plugin_churn(unsigned rounds)
{
	static char *blocks[64];
	int bad = 0;

	for (unsigned i = 0; i < rounds; i++) {
		char **p = &blocks[i % 64];

		if (*p != NULL && (*p)[0] != (char)(i % 64))
			bad++;
		free(*p);
		*p = malloc(16 + i % 1000);
		memset(*p, (int)(i % 64), 16);
	}
	for (unsigned i = 0; i < 64; i++) {
		free(blocks[i]);
		blocks[i] = NULL;
	}
	return bad;
}
