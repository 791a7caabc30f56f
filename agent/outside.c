/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outside.c - one word, changed by compare-and-swap; see outside.h.
 *
 * Who installs another's handler marks the word before and after the call; who
 * puts the agent's back clears the mark only if the word is what it was before
 * the call. So after any race of two the mark is there if the kernel has the
 * other's: that call came after the agent's, and so did its second marking.
 */
#include "outside.h"

#include <errno.h>

#include "atomics.h"
#include "compiler.h"
#include "region.h"

/* Immutable after outside_init() and outside_installed(). */
static struct outside *outside;
static int noted_signal; /* 0: none */
static uintptr_t own_handler;

int
outside_init(void)
{
	outside = region_table("outside", sizeof(*outside), 1,
			       _Alignof(struct outside));
	return outside == NULL ? -ENOMEM : 0;
}

void
outside_installed(int signal, uintptr_t handler)
{
	own_handler = handler;
	noted_signal = signal;
	/* Relaxed: one thread runs, and readers look at this word alone. */
	atomic_store_relaxed(&outside->handler, OUTSIDE_IS_IN);
}

void
outside_has_begun(void)
{
	/* Relaxed: as above. */
	(void)atomic_add_relaxed(&outside->handler, OUTSIDE_HAS_BEGUN);
}

void
outside_left_alone(void)
{
	noted_signal = 0;
	/* Relaxed: the forked child has one thread. */
	atomic_store_relaxed(&outside->handler, OUTSIDE_HAS_BEGUN);
}

bool
outside_is_noted(int signal)
{
	return unlikely(signal == noted_signal) && signal != 0;
}

/* What the word was before, in *before; what it is now. */
static uint32_t
mark(uint32_t *before)
{
	/*
	 * Acquire-release: pairs with itself, so that of two threads' calls the
	 * second sees the first one's marks, and the order of comments above
	 * holds.
	 */
	*before = atomic_load_acquire(&outside->handler);
	while (!atomic_cas_acq_rel(&outside->handler, before,
				   (*before | OUTSIDE_IS_ANOTHERS) +
					   OUTSIDE_CHANGE))
		;
	return (*before | OUTSIDE_IS_ANOTHERS) + OUTSIDE_CHANGE;
}

struct outside_change
outside_changing(uintptr_t handler)
{
	struct outside_change change = { .ours = handler == own_handler };

	if (change.ours)
		/* Acquire: pairs with the release in mark(). */
		change.before = atomic_load_acquire(&outside->handler);
	else
		change.during = mark(&change.before);
	return change;
}

void
outside_changed(const struct outside_change *change, bool done)
{
	uint32_t expected = change->ours ? change->before : change->during;
	uint32_t ignored;

	if (change->ours && done)
		/* Release: after the call; see mark(). */
		(void)atomic_cas_acq_rel(&outside->handler, &expected,
					 (expected & ~OUTSIDE_IS_ANOTHERS) +
						 OUTSIDE_CHANGE);
	else if (!change->ours && done)
		(void)mark(&ignored);
	else if (!change->ours)
		/* As if nothing had been, if nothing else has. */
		(void)atomic_cas_acq_rel(&outside->handler, &expected,
					 change->before);
}

void
outside_dump_failed(int error)
{
	/* Relaxed: dumps are one at a time, and readers look at nothing else.
	 */
	atomic_store_relaxed(&outside->dump_error, error);
}
