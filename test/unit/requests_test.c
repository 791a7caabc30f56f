/* SPDX-License-Identifier: Apache-2.0 */
/* requests_test.c - requests are merged, and none is lost. */
/* LINK: requests */
/* LIBS: -pthread */
#include "requests.h"

#include <pthread.h>
#include <stdlib.h>

#include "atomics.h"
#include "check.h"

static bool
lives(int tid)
{
	(void)tid;
	return true;
}

static bool
is_dead(int tid)
{
	/* Of a running dump; a thread that starts one lives. */
	return tid != 0;
}

static void
the_first_request_starts_and_is_served(void **state)
{
	struct requests requests = { 0 };

	(void)state;
	assert_true(requests_take(&requests, 7, is_dead));
	requests_running(&requests);
	assert_int_equal(requests_count(&requests), 1);
	assert_true(requests_end(&requests, 1));
	assert_true(requests_take(&requests, 7, is_dead));
}

static void
requests_while_one_starts_are_merged(void **state)
{
	struct requests requests = { 0 };

	(void)state;
	assert_true(requests_take(&requests, 7, is_dead));
	/* Its child does not exist yet: that does not make it dead. */
	assert_false(requests_take(&requests, 7, is_dead));
	requests_running(&requests);
	assert_false(requests_take(&requests, 7, lives));
	assert_int_equal(requests_count(&requests), 3);
}

static void
a_late_request_makes_another_round(void **state)
{
	struct requests requests = { 0 };
	uint64_t served;

	(void)state;
	assert_true(requests_take(&requests, 7, lives));
	requests_running(&requests);
	served = requests_count(&requests);
	assert_false(requests_take(&requests, 7, lives));
	assert_false(requests_end(&requests, served));
	assert_true(requests_end(&requests, requests_count(&requests)));
}

static void
a_killed_dump_is_taken_over(void **state)
{
	struct requests requests = { 0 };

	(void)state;
	assert_true(requests_take(&requests, 7, lives));
	requests_running(&requests);
	assert_true(requests_take(&requests, 7, is_dead));
	requests_running(&requests);
	/* The dead one's end, had it come late, would not count. */
	assert_false(requests_end(&requests, 1));
	assert_true(requests_end(&requests, 2));
}

/* It ends in the middle: a filter that kills a thread alone, for one. */
static bool
starter_is_gone(int tid)
{
	return tid != 7 && tid != 0;
}

static void
a_starter_that_is_gone_holds_nothing(void **state)
{
	struct requests requests = { 0 };

	(void)state;
	assert_true(requests_take(&requests, 7, lives));
	assert_true(requests_take(&requests, 8, starter_is_gone));
	assert_false(requests_take(&requests, 9, lives));
	requests_running(&requests);
	assert_int_equal(requests_count(&requests), 3);
	assert_true(requests_end(&requests, 3));
}

static void
abandoning_tells_what_is_left(void **state)
{
	struct requests requests = { 0 };

	(void)state;
	assert_true(requests_take(&requests, 7, lives));
	requests_running(&requests);
	assert_false(requests_abandon(&requests, 1));
	assert_true(requests_take(&requests, 7, lives));
	requests_running(&requests);
	assert_false(requests_take(&requests, 7, lives));
	assert_true(requests_abandon(&requests, 2));
	assert_true(requests_take(&requests, 7, lives));
}

static void
a_forked_child_starts_afresh(void **state)
{
	struct requests requests = { 0 };

	(void)state;
	assert_true(requests_take(&requests, 7, lives));
	requests_running(&requests);
	requests_reset(&requests);
	assert_true(requests_take(&requests, 7, lives));
	assert_int_equal(requests_count(&requests), 1);
}

/*
 * Threads publish a number and ask. Whoever starts serves like the dump child:
 * at the end each number that was published has been seen by a round that
 * began after it, and never did two rounds run at a time.
 */
#define ASKERS 4
#define ASKS 20000

static struct {
	struct requests requests;
	uint64_t published[ASKERS]; /* atomic */
	uint64_t seen[ASKERS];	    /* of the round that runs */
	uint32_t inside;	    /* atomic: rounds that run */
	uint32_t overlaps;	    /* atomic */
} race;

static void
serve(void)
{
	uint64_t served;

	requests_running(&race.requests);
	if (atomic_add_acq_rel(&race.inside, 1) != 0)
		(void)atomic_add_relaxed(&race.overlaps, 1);
	for (;;) {
		served = requests_count(&race.requests);
		for (unsigned i = 0; i < ASKERS; i++)
			race.seen[i] = atomic_load_relaxed(&race.published[i]);
		/* Left before the end is declared: the next may begin then. */
		(void)atomic_sub_relaxed(&race.inside, 1);
		if (requests_end(&race.requests, served))
			return;
		(void)atomic_add_relaxed(&race.inside, 1);
	}
}

static void *
ask(void *argument)
{
	uint64_t *published = argument;

	for (uint64_t i = 1; i <= ASKS; i++) {
		atomic_store_relaxed(published, i);
		if (requests_take(&race.requests, 7, lives))
			serve();
	}
	return NULL;
}

static void
no_request_is_lost_in_a_race(void **state)
{
	pthread_t threads[ASKERS];

	(void)state;
	for (unsigned i = 0; i < ASKERS; i++)
		pthread_create(&threads[i], NULL, ask, &race.published[i]);
	for (unsigned i = 0; i < ASKERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(race.overlaps, 0);
	assert_int_equal(requests_count(&race.requests), ASKERS * ASKS);
	for (unsigned i = 0; i < ASKERS; i++)
		assert_int_equal(race.seen[i], ASKS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_request_starts_and_is_served),
		cmocka_unit_test(requests_while_one_starts_are_merged),
		cmocka_unit_test(a_late_request_makes_another_round),
		cmocka_unit_test(a_killed_dump_is_taken_over),
		cmocka_unit_test(a_starter_that_is_gone_holds_nothing),
		cmocka_unit_test(abandoning_tells_what_is_left),
		cmocka_unit_test(a_forked_child_starts_afresh),
		cmocka_unit_test(no_request_is_lost_in_a_race),
	};

	return CHECK_RUN(tests);
}
