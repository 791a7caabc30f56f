/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_test.c - which part of which stack is taken for readable.
 *
 * LINK: span sys
 * LIBS: -lpthread
 */
#include "span.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "sys.h"

#define PAGE ((uintptr_t)4096)

extern char **environ;

static uintptr_t
stack_pointer(void)
{
	return (uintptr_t)__builtin_frame_address(0);
}

static void
test_main_thread(void **state)
{
	struct span own = { 0, 0 }, walk, before;
	uintptr_t sp = stack_pointer();

	(void)state;
	assert_true(span_enter(&walk, &own, sp, arch_thread_pointer()));
	assert_memory_equal(&walk, &own, sizeof(own));
	assert_true(span_holds(&walk, sp));
	/* Up to the strings of the environment, which the kernel put on top. */
	assert_true(span_holds(&walk, (uintptr_t)environ[0]));
	assert_false(sys_readable(walk.high));
	before = own;
	assert_true(span_enter(&walk, &own, sp, arch_thread_pointer()));
	assert_memory_equal(&before, &own, sizeof(own));
}

/* A stack that has grown since: the span grows downwards with it. */
static __attribute__((noinline)) void
deeper(struct span *own, uintptr_t low_before)
{
	volatile char room[100000];
	struct span walk;

	room[0] = 1;
	assert_true(
		span_enter(&walk, own, (uintptr_t)room, arch_thread_pointer()));
	assert_true(own->low < low_before);
	assert_true(span_holds(&walk, (uintptr_t)room));
}

static void
test_grown_stack(void **state)
{
	struct span own = { 0, 0 }, walk;
	uintptr_t sp = stack_pointer();

	(void)state;
	assert_true(span_enter(&walk, &own, sp, arch_thread_pointer()));
	deeper(&own, own.low);
}

static void *
in_thread(void *failed)
{
	struct span own = { 0, 0 }, walk;
	uintptr_t sp = stack_pointer(), tp = arch_thread_pointer();

	*(bool *)failed = !span_enter(&walk, &own, sp, tp) || own.high != tp ||
			  !span_holds(&walk, sp) || walk.low > sp ||
			  walk.high != tp || span_grow(&walk, tp + 100000);
	return NULL;
}

static void
test_other_thread(void **state)
{
	pthread_t thread;
	bool failed = true;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, in_thread, &failed), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_false(failed);
}

/* A coroutine's stack of pages, with a page that cannot be read above it. */
static uintptr_t
foreign_stack(unsigned pages)
{
	char *base = mmap(NULL, (pages + 2) * PAGE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(base, MAP_FAILED);
	assert_return_code(mprotect(base + PAGE, pages * PAGE,
				    PROT_READ | PROT_WRITE),
			   0);
	return (uintptr_t)base + PAGE;
}

static void
test_foreign_stack(void **state)
{
	struct span own = { 0, 0 }, walk;
	uintptr_t base = foreign_stack(3), sp = base + PAGE + 64;

	(void)state;
	assert_true(span_enter(&walk, &own, sp, arch_thread_pointer()));
	assert_int_equal(own.high - own.low, 0);
	assert_int_equal(walk.low, base + PAGE);
	assert_int_equal(walk.high, base + 2 * PAGE);
	assert_false(span_holds(&walk, base + 2 * PAGE - 4));
	assert_true(span_grow(&walk, base + 2 * PAGE - 4));
	assert_int_equal(walk.high, base + 3 * PAGE);
	/* Its last word, but not the one that hangs over into the guard. */
	assert_true(span_grow(&walk, base + 3 * PAGE - 8));
	assert_false(span_grow(&walk, base + 3 * PAGE - 4));
	assert_false(span_grow(&walk, base + 3 * PAGE));
	assert_false(span_grow(&walk, base));
	assert_false(span_grow(&walk, base + (2 << 20)));
	assert_false(span_grow(&walk, UINTPTR_MAX - 3));
}

static void
test_unreadable(void **state)
{
	struct span own = { 0, 0 }, walk;
	uintptr_t tp = arch_thread_pointer();
	uintptr_t guard = foreign_stack(1) - PAGE;

	(void)state;
	assert_false(span_enter(&walk, &own, guard, tp));
	assert_false(span_enter(&walk, &own, guard, 0));
	assert_false(span_enter(&walk, &own, 0, tp));
	assert_false(span_enter(&walk, &own, 8, tp));
	assert_false(span_enter(&walk, &own, UINTPTR_MAX, tp));
	assert_false(span_enter(&walk, &own, UINT64_C(1) << 63, tp));
}

static void
test_unknown_thread(void **state)
{
	struct span own = { 0, 0 }, walk;
	uintptr_t sp = stack_pointer();

	(void)state;
	assert_true(span_enter(&walk, &own, sp, 0));
	assert_int_equal(own.high, 0);
	assert_int_equal(walk.high - walk.low, PAGE);
}

static int
setup(void **state)
{
	(void)state;
	span_init();
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_main_thread),
		cmocka_unit_test(test_grown_stack),
		cmocka_unit_test(test_other_thread),
		cmocka_unit_test(test_foreign_stack),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_unknown_thread),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("span", tests, setup, NULL);
}
