/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.h - output for a person: pager, colours, columns, characters.
 *
 * None of it for a file or a pipe: what is written there is always the same,
 * in UTF-8.
 */
#ifndef HEAPAGENT_TERMINAL_H
#define HEAPAGENT_TERMINAL_H

#include <stdbool.h>

struct terminal {
	bool colour;
	bool narrow;   /* fewer columns than a wide table and its names take */
	int pager_pid; /* 0: none */
};

/*
 * If standard output is a terminal, it goes through a pager from here on. It
 * is coloured then, unless it is for programs (plain); NO_COLOR and TERM=dumb
 * turn colours off, PAGER= or PAGER=cat the pager. Where the locale is not one
 * of UTF-8, the signs of units.h are ASCII from here on.
 */
void terminal_begin(struct terminal *terminal, bool plain);

/*
 * Waits for the reader. False if output was lost, errno says why; what who
 * quits the pager did not read is not lost.
 */
bool terminal_end(struct terminal *terminal);

/*
 * A figure ("1.2 MiB ±3 %") to the right in so many columns; on a narrow
 * terminal without its spaces ("1.2MiB±3%") in so many fewer ones.
 */
void terminal_figure(const struct terminal *terminal, const char *text,
		     int wide, int narrow);

/* The line between two blocks of a table, of so many columns. */
void terminal_rule(int columns);

#endif
