/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_stress.c - the live table under threads that free each other's blocks
 * while it grows, with ThreadSanitizer watching.
 *
 * LINK: live live_filter region counters sys
 * CFLAGS: -Wno-tsan
 */
#include "live.h"

#include <pthread.h>
#include <stdlib.h>

#include "../unit/check.h"

#define THREADS 4
#define ROUNDS 40000
#define RING 4096

/*
 * A pool of addresses, as malloc keeps one: an address is in the pool or with
 * one owner. Owners pass blocks on through the mailboxes, so most are removed
 * by a thread that did not insert them.
 */
static struct {
	pthread_mutex_t lock;
	void *free[THREADS * RING * 8];
	unsigned count;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct {
	pthread_mutex_t lock;
	void *blocks[RING];
	unsigned count;
} mailbox[THREADS];

static unsigned missed; /* atomic */

static void *
take_address(void)
{
	void *p = NULL;

	pthread_mutex_lock(&pool.lock);
	if (pool.count > 0)
		p = pool.free[--pool.count];
	pthread_mutex_unlock(&pool.lock);
	return p;
}

static void
give_address(void *p)
{
	pthread_mutex_lock(&pool.lock);
	pool.free[pool.count++] = p;
	pthread_mutex_unlock(&pool.lock);
}

static void
release(void *p)
{
	struct live_block block = { 0 };

	/* As the hooks do: look at the filter, then remove, then free. */
	if (!live_maybe(p) || !live_remove(p, &block) ||
	    block.size_bytes != (uintptr_t)p)
		atomic_add_relaxed(&missed, 1);
	give_address(p);
}

static void *
work(void *argument)
{
	unsigned self = (unsigned)(uintptr_t)argument, peer;
	unsigned random = self;

	for (unsigned i = 0; i < ROUNDS; i++) {
		void *p = take_address();
		struct live_block block = { .size_bytes = (uintptr_t)p };

		if (p != NULL && live_insert(p, &block)) {
			peer = (random = random * 1103515245 + 12345) >> 16;
			peer %= THREADS;
			pthread_mutex_lock(&mailbox[peer].lock);
			if (mailbox[peer].count < RING) {
				mailbox[peer].blocks[mailbox[peer].count++] = p;
				p = NULL;
			}
			pthread_mutex_unlock(&mailbox[peer].lock);
			if (p != NULL)
				release(p);
		}
		if (i % 4 == 0) /* so that the table first grows */
			continue;
		p = NULL;
		pthread_mutex_lock(&mailbox[self].lock);
		if (mailbox[self].count > RING / 2 + i % 1024)
			p = mailbox[self].blocks[--mailbox[self].count];
		pthread_mutex_unlock(&mailbox[self].lock);
		if (p != NULL)
			release(p);
	}
	return NULL;
}

static int
visit(void *context, uintptr_t address, const struct live_block *block)
{
	unsigned *count = context;

	assert_int_equal(block->size_bytes, address);
	++*count;
	return 0;
}

static void
threads_free_each_others_blocks(void **state)
{
	pthread_t threads[THREADS];
	unsigned left = 0, expected = 0;

	(void)state;
	for (unsigned i = 0; i < THREADS * RING * 2; i++)
		give_address((void *)(UINT64_C(0x7f0000000000) + i * 32UL));
	for (unsigned i = 0; i < THREADS; i++)
		pthread_mutex_init(&mailbox[i].lock, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work,
						(void *)i),
				 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);

	/* At rest the table equals the set of blocks that are out. */
	for (unsigned i = 0; i < THREADS; i++)
		expected += mailbox[i].count;
	assert_int_equal(missed, 0);
	assert_int_equal(live_each(visit, &left), 0);
	assert_int_equal(left, expected);
	assert_true(expected > 4000); /* more than one level was opened */
	for (unsigned i = 0; i < THREADS; i++)
		while (mailbox[i].count > 0)
			release(mailbox[i].blocks[--mailbox[i].count]);
	assert_int_equal(missed, 0);
	left = 0;
	assert_int_equal(live_each(visit, &left), 0);
	assert_int_equal(left, 0);
}

/*
 * Threads insert and remove, each blocks of its own, while the filter is made
 * larger twice: whoever removes a block finds it, whichever filter it looks
 * into. Between insertion and removal there is next to nothing, so that a
 * block that only one of two filters has is noticed.
 */
#define KEPT 30000

static void *
block_of(unsigned self, unsigned i)
{
	uint64_t mixed = (i * 4UL + self + 1) * UINT64_C(0x9e3779b97f4a7c15);

	/* Multiples of 16 all over 2^40 bytes, which no two have in common. */
	return (void *)(UINT64_C(0x100000000000) + (mixed >> 28 << 12) +
			(i * 4UL + self) % 256 * 16);
}

static void *
grow(void *argument)
{
	unsigned self = (unsigned)(uintptr_t)argument;

	for (unsigned i = 0; i < KEPT; i++) {
		void *kept = block_of(self, i);
		void *passing = block_of(self, i + KEPT);
		struct live_block block = { .size_bytes = (uintptr_t)kept };
		struct live_block other = { .size_bytes = (uintptr_t)passing };

		if (!live_insert(kept, &block) ||
		    !live_insert(passing, &other) || !live_maybe(passing) ||
		    !live_remove(passing, &other) || !live_maybe(kept) ||
		    other.size_bytes != (uintptr_t)passing)
			atomic_add_relaxed(&missed, 1);
	}
	return NULL;
}

static void *
shrink(void *argument)
{
	/* The blocks of the next thread. */
	unsigned other = ((unsigned)(uintptr_t)argument + 1) % THREADS;

	for (unsigned i = 0; i < KEPT; i++)
		release(block_of(other, i));
	return NULL;
}

static void
run_in_threads(void *(*function)(void *))
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, function,
						(void *)i),
				 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void
no_block_is_missed_while_the_filter_grows(void **state)
{
	unsigned left = 0, set = 0;

	(void)state;
	pool.count = 0;
	run_in_threads(grow);
	assert_int_equal(missed, 0);
	assert_int_equal(live_filter_current(), LIVE_FILTERS - 1);
	assert_int_equal(live_each(visit, &left), 0);
	assert_int_equal(left, THREADS * KEPT);
	run_in_threads(shrink);
	assert_int_equal(missed, 0);
	/* Nor was one counted that is not there. */
	for (unsigned i = 0; i < 2 * KEPT; i++)
		for (unsigned self = 0; self < THREADS; self++)
			set += live_maybe(block_of(self, i));
	assert_int_equal(set, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_free_each_others_blocks),
		cmocka_unit_test(no_block_is_missed_while_the_filter_grows),
	};

	if (region_init((size_t)64 << 20, 1) != 0 || live_init() != 0)
		return 1;
	return CHECK_RUN(tests);
}
