/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.c - the word of requests.h and its compare-and-swaps.
 *
 * The number's 40 bits do not wrap within the life of a process. A thread's
 * number has 22 (PID_MAX_LIMIT of the kernel's linux/threads.h).
 */
#include "requests.h"

#include "atomics.h"

enum phase { IDLE, STARTING, RUNNING };

#define PHASE_BITS 2
#define PHASE_MASK ((UINT64_C(1) << PHASE_BITS) - 1)
#define STARTER_BITS 22
#define STARTER_MASK (((UINT64_C(1) << STARTER_BITS) - 1) << PHASE_BITS)
#define NUMBER_SHIFT (PHASE_BITS + STARTER_BITS)
#define ONE (UINT64_C(1) << NUMBER_SHIFT)

static enum phase
phase_of(uint64_t word)
{
	return (enum phase)(word & PHASE_MASK);
}

static uint64_t
with_phase(uint64_t word, enum phase phase)
{
	return (word & ~PHASE_MASK) | phase;
}

static int
starter_of(uint64_t word)
{
	return (int)((word & STARTER_MASK) >> PHASE_BITS);
}

bool
requests_take(struct requests *requests, int tid, bool (*alive)(int tid))
{
	/* Relaxed: the compare-and-swap below orders what follows. */
	uint64_t word = atomic_load_relaxed(&requests->word);
	uint64_t next;
	bool take;

	/*
	 * Acquire pairs with the release in requests_end() and abandon(): who
	 * starts a dump sees all that the one before wrote. Release: a dump
	 * that sees the number sees what its requester did before. A stale
	 * answer of alive() fails the swap, because the phase has changed.
	 */
	do {
		take = phase_of(word) == IDLE || !alive(starter_of(word));
		next = word + ONE;
		if (take)
			next = with_phase(next & ~STARTER_MASK, STARTING) |
			       (uint64_t)tid << PHASE_BITS;
	} while (!atomic_cas_acq_rel(&requests->word, &word, next));
	return take;
}

void
requests_running(struct requests *requests)
{
	uint64_t word = atomic_load_relaxed(&requests->word);

	/*
	 * Release pairs with requests_take(): who reads "running" also reads
	 * the child's mark that alive() looks at.
	 */
	while (!atomic_cas_release(&requests->word, &word,
				   with_phase(word & ~STARTER_MASK, RUNNING)))
		;
}

uint64_t
requests_count(const struct requests *requests)
{
	/* Acquire pairs with requests_take(): the dump shows what the
	 * requester did before it asked. */
	return atomic_load_acquire(&requests->word) >> NUMBER_SHIFT;
}

bool
requests_end(struct requests *requests, uint64_t served)
{
	uint64_t word = served << NUMBER_SHIFT | RUNNING;

	/*
	 * Acquire-release: the release pairs with requests_take(). Fails if a
	 * request was added, because the number is in the same word.
	 */
	return atomic_cas_acq_rel(&requests->word, &word,
				  served << NUMBER_SHIFT | IDLE);
}

bool
requests_abandon(struct requests *requests, uint64_t served)
{
	uint64_t word = atomic_load_relaxed(&requests->word);

	/* Release pairs with requests_take(), as in requests_end(). */
	while (!atomic_cas_release(&requests->word, &word,
				   with_phase(word & ~STARTER_MASK, IDLE)))
		;
	return word >> NUMBER_SHIFT != served;
}

void
requests_reset(struct requests *requests)
{
	/* Relaxed: the forked child has one thread. */
	atomic_store_relaxed(&requests->word, 0);
}
