/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.h - how requests for a dump are merged, and why none is lost.
 *
 *	idle ──take──► starting ──running──► running ──end──► idle
 *	                   ▲ │ (its thread is gone) │ (its child was killed)
 *	                   │ └──────take──────────┐ │
 *	                   └──────────take────────┴─┘
 *
 * One word holds the phase, the thread that starts the dump and the number of
 * requests so far. A request
 * either moves the phase to starting, and then its thread makes the dump, or
 * it only adds to the number, and then the dump that runs finds at its end
 * that the number is not the one it began with and goes round once more: one
 * compare-and-swap decides, so there is no moment in between. Safe in signal
 * handlers and across processes that share the memory.
 */
#ifndef HEAPAGENT_REQUESTS_H
#define HEAPAGENT_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

struct requests {
	uint64_t word; /* atomic: number << 24 | starter << 2 | phase */
};

/*
 * Adds a request of the thread tid. True if the caller has to make the dump now
 * (the phase is then starting); false if a running one will serve it. alive
 * says whether who makes the dump still exists: 0 is the process of a running
 * one, another number the thread that starts it. [any]
 */
bool requests_take(struct requests *requests, int tid, bool (*alive)(int tid));

/* From starting to running, when `alive` has begun to be true. [any] */
void requests_running(struct requests *requests);

/* The number of requests so far, for requests_end(). [any] */
uint64_t requests_count(const struct requests *requests);

/*
 * Back to idle, if no request came since requests_count() gave served; false
 * if one did: go round once more. [any]
 */
bool requests_end(struct requests *requests, uint64_t served);

/* Back to idle in any case; true if requests remain unserved. [any] */
bool requests_abandon(struct requests *requests, uint64_t served);

/* Forgets all, in a forked child. [any] */
void requests_reset(struct requests *requests);

#endif
