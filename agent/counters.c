/* SPDX-License-Identifier: Apache-2.0 */
/* counters.c - named event counters in the region; see counters.h. */
#include "counters.h"

#include "atomics.h"
#include "compiler.h"
#include "region.h"

_Static_assert(COUNTER_COUNT <= REGION_COUNTERS, "counters fit the header");

static const char *const names[COUNTER_COUNT] = {
#define COUNTER_NAME(name, text) #name,
	COUNTERS(COUNTER_NAME)
#undef COUNTER_NAME
};

void
counter_add(enum counter counter)
{
	counter_add_many(counter, 1);
}

void
counter_add_many(enum counter counter, unsigned long long number)
{
	/* Relaxed: a statistic that nothing else is ordered by. */
	atomic_add_relaxed(&region_header()->counters[counter], number);
}

unsigned long long
counter_value(enum counter counter)
{
	/* Relaxed: a statistic that nothing else is ordered by. */
	return atomic_load_relaxed(&region_header()->counters[counter]);
}

const char *
counter_name(enum counter counter)
{
	return names[counter];
}
