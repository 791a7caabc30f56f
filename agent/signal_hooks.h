/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_hooks.h - the exported functions that install signal handlers: they
 * pass every call on as it is, and note what becomes of the dump signal's
 * handler (outside.h).
 */
#ifndef HEAPAGENT_SIGNAL_HOOKS_H
#define HEAPAGENT_SIGNAL_HOOKS_H

/*
 * Looks the real functions up, while waiting for the loader hurts nobody:
 * sigaction() may be called where it would. [init]
 */
void signal_hooks_resolve(void);

#endif
