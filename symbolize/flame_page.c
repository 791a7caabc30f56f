/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame_page.c - the page of a flame graph, around its data.
 */
#include "flame_page.h"

#include <string.h>

__asm__(".pushsection .rodata\n"
	"flame_html:\n"
	".incbin \"symbolize/flame.html\"\n"
	"flame_html_end:\n"
	".byte 0\n"
	".popsection\n");

extern const char flame_html[];
extern const char flame_html_end[];

struct flame_page
flame_page(void)
{
	static const char mark[] = "@@DATA@@";
	const char *found = strstr(flame_html, mark);
	const char *after = found + strlen(mark);
	return (struct flame_page){
		.before = flame_html,
		.before_bytes = (size_t)(found - flame_html),
		.after = after,
		.after_bytes = (size_t)(flame_html_end - after),
	};
}
