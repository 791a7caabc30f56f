/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show_settings.c - prints its arguments and the variables that `heapagent run`
 * sets.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		printf("argument %s\n", argv[i]);
	for (char **entry = environ; *entry; entry++)
		if (strncmp(*entry, "HEAPAGENT_", 10) == 0 ||
		    strncmp(*entry, "LD_PRELOAD=", 11) == 0)
			puts(*entry);
}
