/* SPDX-License-Identifier: Apache-2.0 */
/* threads_waits_test.c - which wait is still the same in the next dump. */
/* LINK: threads_waits region counters sys */
#include "threads.h"

#include <string.h>
#include <sys/syscall.h>

#include "check.h"
#include "counters.h"
#include "region.h"

#define FIRST_NS 1000
#define SECOND_NS 9000
/* As many as there is room for in the least region: threads_waits.c. */
#define ROOM 512
#define MANY (ROOM + 100)

static struct thread_record records[MANY];

static struct thread_record
blocked(int tid, uint64_t switches, uint64_t since_ns)
{
	return (struct thread_record){
		.tid = tid,
		.state = "sleeping",
		.call = { .known = true,
			  .nr = SYS_clock_nanosleep,
			  .sp = 0x7000,
			  .ip = 0x4000 },
		.wait = { .known = true,
			  .disturbed = 2,
			  .start_ticks = 77,
			  .switches = switches,
			  .since_ns = since_ns,
			  .seen_ns = since_ns + 100 },
	};
}

static void
dump(unsigned count)
{
	struct threads threads = { .records = records, .count = count };

	threads_waits_recall(&threads);
}

/* A first dump sees one, a second the other: since when it is blocked then. */
static uint64_t
since(struct thread_record first, struct thread_record second)
{
	records[0] = first;
	dump(1);
	records[0] = second;
	dump(1);
	return records[0].wait.since_ns;
}

static void
the_older_time_stands(void **state)
{
	struct thread_record first = blocked(42, 5, FIRST_NS);
	struct thread_record again = blocked(42, 7, SECOND_NS);

	(void)state;
	assert_int_equal(since(first, again), FIRST_NS);
	/* And in a third, disturbed by the second. */
	records[0] = blocked(42, 9, SECOND_NS + 9);
	dump(1);
	assert_int_equal(records[0].wait.since_ns, FIRST_NS);
	assert_int_equal(threads_blocked_ns(&records[0]),
			 SECOND_NS + 9 + 100 - FIRST_NS);
	/* It has ended when one that does not see it lies between. */
	dump(0);
	records[0] = blocked(42, 11, SECOND_NS + 10);
	dump(1);
	assert_int_equal(records[0].wait.since_ns, SECOND_NS + 10);
}

static void
an_interrupted_call_keeps_its_name(void **state)
{
	struct thread_record first = blocked(42, 5, FIRST_NS);
	struct thread_record again = blocked(42, 7, SECOND_NS);

	(void)state;
	again.call.nr = SYS_restart_syscall;
	assert_int_equal(since(first, again), FIRST_NS);
	assert_int_equal(records[0].call.nr, SYS_clock_nanosleep);
}

static void
another_wait(void **state)
{
	struct thread_record first = blocked(42, 5, FIRST_NS);
	struct thread_record again = blocked(42, 8, SECOND_NS);

	(void)state;
	/* It ran once more than for us. */
	assert_int_equal(since(first, again), SECOND_NS);
	again.wait.switches = 7;
	again.call.nr = SYS_read;
	assert_int_equal(since(first, again), SECOND_NS);
	again = blocked(42, 7, SECOND_NS);
	again.call.sp += 8;
	assert_int_equal(since(first, again), SECOND_NS);
	again = blocked(42, 7, SECOND_NS);
	again.call.ip += 8;
	assert_int_equal(since(first, again), SECOND_NS);
	/* The number of a thread that has ended, given out again. */
	again = blocked(42, 7, SECOND_NS);
	again.wait.start_ticks++;
	assert_int_equal(since(first, again), SECOND_NS);
	assert_int_equal(since(first, blocked(43, 7, SECOND_NS)), SECOND_NS);
	/* Read without a stop it blocks no more often. */
	first.wait.disturbed = 0;
	assert_int_equal(since(first, blocked(42, 5, SECOND_NS)), FIRST_NS);
	/* The kernel's own time may be the older one. */
	first.wait.since_ns = SECOND_NS + 1;
	assert_int_equal(since(first, blocked(42, 5, SECOND_NS)), SECOND_NS);
}

static void
one_that_ran_is_not_remembered(void **state)
{
	struct thread_record first = blocked(42, 5, FIRST_NS);

	(void)state;
	first.wait.known = false;
	assert_int_equal(since(first, blocked(42, 7, SECOND_NS)), SECOND_NS);
}

/* All that are too many are counted, none of the others is lost; and the room
 * of those that have ended is used again. */
static void
more_than_there_is_room_for(void **state)
{
	unsigned long long dropped = counter_value(COUNTER_waits_dropped);
	unsigned known = 0;

	(void)state;
	for (int round = 0; round < 3; round++) {
		int tid = 1000 + round * 10000;

		for (int i = 0; i < MANY; i++)
			records[i] = blocked(tid + i, 5, FIRST_NS);
		dump(MANY);
		dropped += MANY - ROOM;
		assert_int_equal(counter_value(COUNTER_waits_dropped), dropped);
	}
	for (unsigned i = 0; i < MANY; i++)
		records[i] = blocked(records[i].tid, 7, SECOND_NS);
	dump(MANY);
	for (unsigned i = 0; i < MANY; i++)
		known += records[i].wait.since_ns == FIRST_NS;
	assert_int_equal(known, ROOM);
}

static int
set_up(void **state)
{
	(void)state;
	assert_int_equal(region_init(REGION_SIZE_MIN, 1), 0);
	return threads_waits_init();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_older_time_stands),
		cmocka_unit_test(an_interrupted_call_keeps_its_name),
		cmocka_unit_test(another_wait),
		cmocka_unit_test(one_that_ran_is_not_remembered),
		cmocka_unit_test(more_than_there_is_room_for),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, NULL);
}
