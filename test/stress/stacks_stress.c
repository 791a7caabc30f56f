/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks_stress.c - threads that insert the same stacks at the same time while
 * another reads them, with ThreadSanitizer watching.
 *
 * LINK: stacks region counters sys
 * CFLAGS: -Wno-tsan
 */
#include "stacks.h"

#include <pthread.h>

#include "../unit/check.h"
#include "atomics.h"

#define THREADS 4
#define STACKS 5000
#define CLASSES 3

static unsigned done; /* atomic */

static void *
insert_all(void *argument)
{
	uint64_t frames[8];

	(void)argument;
	for (unsigned i = 0; i < STACKS; i++)
		for (unsigned class = 0; class < CLASSES; class ++) {
			struct bucket *bucket;
			region_offset at;

			for (unsigned f = 0; f < 8; f++)
				frames[f] = i + f;
			at = stacks_bucket(frames, 1 + i % 8, class);
			if (at == 0)
				return argument;
			bucket = region_at(at);
			atomic_add_relaxed(&bucket->allocated.objects, 1);
			atomic_add_relaxed(&bucket->allocated.bytes, i);
		}
	return NULL;
}

static int
add_up(void *context, const struct stack *stack, const struct bucket *bucket)
{
	uint64_t *sums = context;

	assert_true(stack->frame_count >= 1 && stack->frame_count <= 8);
	sums[0]++;
	sums[1] += atomic_load_relaxed(&bucket->allocated.objects);
	return 0;
}

static void *
read_all(void *argument)
{
	(void)argument;
	while (!atomic_load_acquire(&done)) {
		uint64_t sums[2] = { 0, 0 };

		stacks_each(add_up, sums);
		assert_true(sums[0] <= STACKS * CLASSES);
	}
	return NULL;
}

static void
equal_stacks_are_made_once(void **state)
{
	pthread_t threads[THREADS], reader;
	uint64_t sums[2] = { 0, 0 };

	(void)state;
	pthread_create(&reader, NULL, read_all, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, insert_all, &done);
	for (unsigned i = 0; i < THREADS; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	atomic_store_release(&done, 1);
	pthread_join(reader, NULL);
	stacks_each(add_up, sums);
	assert_int_equal(sums[0], STACKS * CLASSES);
	assert_int_equal(sums[1], STACKS * CLASSES * THREADS);
	assert_int_equal(stacks_bucket_count(), STACKS * CLASSES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_are_made_once),
	};

	if (region_init((size_t)16 << 20, 1) != 0 || stacks_init() != 0)
		return 1;
	return CHECK_RUN(tests);
}
