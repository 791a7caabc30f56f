/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals.h - signals by the names that HEAPAGENT_SIGNAL takes.
 */
#ifndef HEAPAGENT_SIGNALS_H
#define HEAPAGENT_SIGNALS_H

#include <stddef.h>

/*
 * The number of "USR2", "SIGUSR2", "12" or "RTMIN+3", 0 of "none", -1 if it is
 * none of these.
 */
int signals_parse(const char *text);
/* "SIGUSR2" or "SIGRTMIN+3" into name; returns name. */
const char *signals_name(int signal, char *name, size_t size_bytes);

#endif
