/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger.h - from the signal to a running dump.
 *
 * Requests that come while a dump runs are merged into one more dump after
 * it; none is lost. A child of the host that shares its memory but not its
 * fate does the work (docs/design.md); the interrupted thread waits only
 * until its own stack and the counters were copied.
 */
#ifndef HEAPAGENT_TRIGGER_H
#define HEAPAGENT_TRIGGER_H

/*
 * Maps the dump stacks and installs the handler of config.signal, unless the
 * host has one (then one line, if LOG=info). 0 or -errno. [init]
 */
int trigger_init(void);

/* Dumps now and returns when the files are written (at exit). [any] */
void trigger_dump_and_wait(void);

/* Waits until a dump that runs, if any, has ended. [any] */
void trigger_wait(void);

/* Forgets a dump that ran in the parent when it forked. [any] */
void trigger_fork_child(void);

#endif
